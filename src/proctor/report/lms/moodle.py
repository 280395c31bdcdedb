"""Moodle: a CSV whose columns are mapped in its import page. Map `username`, then an item to `total` or to exercises.

Every grade is a number: one that is not would fail the whole import. `feedback` can be mapped to the item's feedback.
"""

from __future__ import annotations

from pathlib import Path

from proctor.report.lms.gradebook import Gradebook, Student, number, write_table


def write(book: Gradebook, out: Path) -> None:
    header = ["username", *book.exercises, "total", "feedback"]
    students = ([s.name, *map(number, s.earned), number(s.total), feedback(s)] for s in book)
    write_table(out, [header, *students])


def feedback(student: Student) -> str:
    """What to say about the answers that are begun and not right."""
    return "\n\n".join(row["message"] for row in student.rows if row["state"] not in ("passed", "not_started"))
