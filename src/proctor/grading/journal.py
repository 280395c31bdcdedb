"""The journal of a run, on disk, from which a killed run resumes.

One line per student, appended when the student is done. A line that was cut off, by a kill or by a full disk, is not
taken for a result.
Reports are made from the journal alone, in the order of names, so they do not depend on who was done first.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.examining.result import Explanation, Located, Result
from proctor.sandbox import Fault

FOLDER = ".grading"  # exists while a run is unfinished
DONE = ".grading.done"  # what it is called while it is removed
MARKED = "marked.jsonl"  # in the folder of results: all that was marked, in the order of names


@dataclass(frozen=True)
class GradedSubmission:
    """One student, done.

    Args:
        digest: of what was handed in; a changed submission is marked again.
        results: in the assignment's order.
        notes: on files that could not be read.
        code: of the answers, for the comparison with others (`proctor.grading.similarity`).
    """

    student: str
    digest: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    code: str = ""

    def to_json(self) -> str:
        # `vars` where others write `asdict`, which copies everything first
        return json.dumps(self, default=vars, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> GradedSubmission:
        data = json.loads(line)
        return cls(**{**data, "results": tuple(map(result_of, data["results"])), "notes": tuple(data["notes"])})


def result_of(data: Mapping[str, Any]) -> Result:
    explanations = tuple(Explanation(**e) for e in data["explanations"])
    lists = {name: tuple(data.get(name, ())) for name in ("misconceptions", "evidence", "remarks", "steps")}
    checks = tuple((situation, passes) for situation, passes in data.get("checks", ()))
    located = Located(**data["located"]) if data.get("located") else None
    return Result(**{**data, **lists, "checks": checks, "explanations": explanations, "located": located})


class Journal:
    """The journal of one run in its folder.

    Args:
        out: where the run writes.
        settings: what must be equal for an unfinished run to be continued.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.folder = out / FOLDER
        self.lines = self.folder / "journal.jsonl"
        self.settings = dict(settings)
        self._at: dict[str, tuple[int, str]] = {}  # student -> where the line starts, digest

    def unfinished_settings(self) -> dict[str, Any] | None:
        """The settings of an unfinished run; None if there is none."""
        try:
            found = json.loads((self.folder / "settings.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def begin(self) -> None:
        """Start afresh."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.folder.with_name(DONE), ignore_errors=True)
        self.folder.mkdir(parents=True, mode=0o700)  # the settings hold the salt
        write_atomically(self.folder / "settings.json", json.dumps(self.settings))
        self._at = {}

    def resume(self) -> None:
        """Take over what an unfinished run has done."""
        self._at = {}
        whole = 0
        if self.lines.exists():
            with self.lines.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    try:
                        done = GradedSubmission.from_json(line)
                    except (ValueError, KeyError, TypeError):
                        break  # a disk that was full, or lost its power, may hold anything here
                    self._at[done.student] = (whole, done.digest)
                    whole += len(line)
            os.truncate(self.lines, whole)

    def digest(self, student: str) -> str | None:
        """The digest of a student's submission when it was marked; None if it was not."""
        return self._at[student][1] if student in self._at else None

    def add(self, marked: GradedSubmission) -> None:
        line = marked.to_json().encode("utf-8", "backslashreplace") + b"\n"
        with self.lines.open("ab") as file:
            start = file.tell()
            file.write(line)
        self._at[marked.student] = (start, marked.digest)

    def read(self, students: list[str]) -> Iterator[GradedSubmission]:
        """The students that are done, in this order."""
        if not self.lines.exists():
            return
        with self.lines.open("rb") as file:
            for student in students:
                if student in self._at:
                    file.seek(self._at[student][0])
                    found = GradedSubmission.from_json(file.readline())
                    if found.student != student:
                        raise Fault(f"the journal has {found.student!r} where {student!r} was noted")
                    yield found

    def finish(self) -> None:
        """Remove it, in one step: half of it would be taken for the journal of an unfinished run."""
        done = self.folder.with_name(DONE)
        self.folder.replace(done)
        shutil.rmtree(done)


def read_marked(results: Path) -> Iterator[GradedSubmission]:
    """The students of a finished run, one at a time, in the order of names.

    Raises:
        OSError: these results were written before they were kept whole.
        ValueError: the file is damaged.
    """
    with (results / MARKED).open("rb") as file:
        for line in file:
            try:
                yield GradedSubmission.from_json(line)
            except (KeyError, TypeError) as error:
                raise ValueError(f"{results / MARKED} is damaged ({error})") from None


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    part.replace(path)


KEPT = (
    "feedback",
    "summary.html",
    "grades.csv",
    MARKED,
    "unnamed.json",
    "results.jsonl",
)  # results.jsonl last: it shows that the rest was moved
EARLIER = "earlier"


def archive_previous(out: Path) -> Path | None:
    """Move the results of a finished run aside, to `earlier/1`, `earlier/2`, …; None if there are none."""
    if not (out / "results.jsonl").exists():
        return None
    number = 1
    while (out / EARLIER / str(number) / "results.jsonl").exists():
        number += 1
    place = out / EARLIER / str(number)
    place.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (out / name).exists():
            shutil.rmtree(place / name, ignore_errors=True)
            (out / name).replace(place / name)
    return place
