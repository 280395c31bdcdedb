"""Canvas: the gradebook's own CSV. A column per exercise; one that Canvas does not know becomes an assignment.

Canvas looks a student up by ID, SIS ID, login and name, in this order. What it gets from us is the name of the
submission, as login and as name.
"""

from __future__ import annotations

from pathlib import Path

from proctor.report.lms.gradebook import Gradebook, number, write_table

STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def write(book: Gradebook, out: Path) -> None:
    header = [*STUDENT, *book.exercises]
    possible = ["    Points Possible", "", "", "", "", *map(number, book.exercises.values())]
    students = ([s.name, "", "", s.name, "", *map(number, s.earned)] for s in book)
    write_table(out, [header, possible, *students])
