"""Moodle: a CSV whose columns are mapped in its import page. Map the user, then an item to `total` or to exercises.

With a roster the user is `idnumber`, or `username` or `email` if the roster has logins or addresses; without one it is
`username`, the name of the folder. Every grade is a number, or empty for students who handed in nothing: one that is
not would fail the whole import, and so would a user that Moodle does not know. So folders that a roster does not name
are left out. `feedback` can be mapped to the item's feedback.
"""

from __future__ import annotations

from pathlib import Path

from proctor.points.scheme import points_text
from proctor.report.lms.results import Gradebook, Student
from proctor.report.lms.roster import Person
from proctor.tables import spreadsheet_text, write_table

COLUMNS = {"idnumber": "id", "username": "login", "email": "email"}  # Moodle's -> the roster's


def write_moodle(book: Gradebook, out: Path) -> None:
    if book.roster is None:
        user = ["username"]
        students = [[spreadsheet_text(s.name), *grades(s)] for s in book]
    else:
        user = [name for name, column in COLUMNS.items() if column in book.roster.columns]
        students = [[*moodle_columns(s.person, user), *grades(s)] for s in book if s.person is not None]
        students += [[*moodle_columns(person, user), *("" for _ in book.exercises), "", ""] for person in book.absent]
    write_table(out, [[*user, *book.exercises, "total", "feedback"], *students])


def moodle_columns(person: Person, columns: list[str]) -> list[str]:
    return [getattr(person, COLUMNS[column]) for column in columns]


def grades(student: Student) -> list[str]:
    return [*map(points_text, student.earned), points_text(student.total), spreadsheet_text(feedback(student))]


def feedback(student: Student) -> str:
    """Feedback on the answers that are begun and not right, and on those that a person spoke of."""
    told = []
    for row, mark in zip(student.rows, student.marks, strict=True):
        if row["state"] not in ("passed", "not_started") or mark.told:
            told.append("\n".join(filter(None, [row["message"], mark.told])))
    return "\n\n".join(told)
