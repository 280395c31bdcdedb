"""Gradescope: a results.json per student, and an autograder that runs us there.

`--out class.zip` holds `<student>/results.json` for every student, and `autograder.zip`, which is uploaded as it is. It
unpacks on every system: see `folder_of`.
`--out results.json` writes the one results.json of a class of one: this is what the autograder calls over there.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.report.lms.autograder import add, autograder
from proctor.report.lms.results import CannotExport, Gradebook, Student

AUTOGRADER = "autograder.zip"
LONGEST = 200  # bytes of a folder's name
EXTRA = ("state", "misconception", "help", "line", "probes_passed", "probes")


def write_gradescope(book: Gradebook, out: Path) -> None:
    if out.suffix == ".json":
        students = list(book)
        if len(students) != 1:
            raise CannotExport(
                f"results.json holds one student, and this class has {len(students)}: name a .zip for all of them."
            )
        student = students[0]
        out.write_text(indented_json(results(student, book)), encoding="utf-8")
        return
    taken = {AUTOGRADER}
    with zipfile.ZipFile(out, "w") as archive:
        for student in book:
            add(archive, f"{folder_of(student.name, taken)}/results.json", indented_json(results(student, book)))
        add(archive, AUTOGRADER, autograder(book.program, list(book.exercises)))


def folder_of(student: str, taken: set[str]) -> str:
    """The folder of a student in the archive: their name, where every system can have a folder of that name beside
    those that are taken; else what such a name has in common with it, and a number. It is taken then."""
    plain = re.sub(r'[<>:"/\\|?*]', "_", student).rstrip(". ")
    if plain != student or len(student.encode()) > LONGEST or alike(student) in taken:
        cut = plain.encode()[: LONGEST - 13].decode("utf-8", "ignore")
        plain = f"{cut}-{sha256(student.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"
    taken.add(alike(plain))
    return plain


def alike(name: str) -> str:
    """Equal for two names that some system takes for one: whatever their capitals, however letters are put together."""
    return unicodedata.normalize("NFC", name).casefold()


def results(student: Student, book: Gradebook) -> dict[str, Any]:
    """One student's results.json."""
    return {
        "score": round(student.total, 4),
        "execution_time": sum(row["seconds"] for row in student.rows),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": row["exercise"],
                "number": str(number),
                "score": mark.points,
                "max_score": mark.worth,
                "status": "passed" if row["state"] == "passed" else "failed",
                "output": "\n".join(filter(None, [row["message"], mark.told])),
                "visibility": "visible",
                "extra_data": {key: row.get(key) for key in EXTRA},
            }
            for number, (row, mark) in enumerate(zip(student.rows, student.marks, strict=True), start=1)
        ],
    }


def indented_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
