"""Makes the downloads of five systems, after the names that they document, of one class.

Canvas: the name of the student, LATE, the ids of user and file, the name of the file, as Canvas's own zipper puts them
together; a file that is handed in again has -1, -2 and a higher id. Moodle: `fullname_number_assignsubmission_file`,
which is what its import of feedback files expects. Gradescope: `submission_metadata.yml` in the form that Ruby writes.
nbgrader: `{step}/{student}/{assignment}/` with `timestamp.txt`. GitHub Classroom: `{assignment}-submissions/` and in it
`{assignment}-{login}`, as `gh classroom clone student-repos` makes them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Person:
    """A student with what was handed in: file -> text, or file -> versions, oldest first."""

    name: str
    id: str
    login: str
    work: Mapping[str, str | list[str]] = field(default_factory=dict)
    at: str = "2026-11-17 20:00:00"
    late: bool = False

    @property
    def email(self) -> str:
        return f"{self.login}@example.org"

    def newest(self) -> dict[str, str]:
        return {name: text if isinstance(text, str) else text[-1] for name, text in self.work.items()}


def again(name: str, number: int) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}-{number}.{ending}" if number else name


def canvas(people: list[Person]) -> dict[str, str]:
    files, number = {}, 5000
    for person in people:
        words = "".join(character for character in person.name.lower() if character.isalpha())
        for name, texts in person.work.items():
            for version, text in enumerate([texts] if isinstance(texts, str) else texts):
                number += 1
                late = "LATE_" if person.late else ""
                files[f"{words}_{late}{person.id}_{number}_{again(name, version)}"] = text
    return files


def moodle(people: list[Person], number: int = 12345) -> dict[str, str]:
    return {
        f"{person.name}_{number + i}_assignsubmission_file/{name}": text
        for i, person in enumerate(people)
        for name, text in person.newest().items()
    }


def gradescope(people: list[Person]) -> dict[str, str]:
    top, files, described = "assignment_77_export", {}, "---\n"
    for number, person in enumerate(people, start=9001):
        described += f"submission_{number}:\n  :submitters:\n  - :name: {person.name}\n    :sid: '{person.id}'\n"
        described += f"    :email: {person.email}\n  :created_at: {person.at}.123456000 Z\n  :score: 0.0\n"
        files |= {f"{top}/submission_{number}/{name}": text for name, text in person.newest().items()}
    return {f"{top}/submission_metadata.yml": described} | files


def nbgrader(people: list[Person]) -> dict[str, str]:
    files = {"source/ps1/problem.ipynb": "{}", "gradebook.db": ""}
    for person in people:
        place = f"submitted/{person.login}/ps1"
        files |= {f"{place}/{name}": text for name, text in person.newest().items()}
        files[f"{place}/timestamp.txt"] = f"{person.at}.000000 UTC"
    return files


def classroom(people: list[Person]) -> dict[str, str]:
    files = {}
    for person in people:
        place = f"hw1-submissions/hw1-{person.login}"
        files |= {f"{place}/{name}": text for name, text in person.newest().items()}
        files |= {f"{place}/README.md": "# Homework 1", f"{place}/.git/HEAD": "ref: refs/heads/main"}
    return files


ALL = {"canvas": canvas, "moodle": moodle, "gradescope": gradescope, "nbgrader": nbgrader, "classroom": classroom}


def as_zip(files: Mapping[str, str | bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def as_folder(files: Mapping[str, str | bytes], path: Path) -> Path:
    for name, text in files.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def zipped(files: Mapping[str, str]) -> bytes:
    """A file to hand in that is itself an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()
