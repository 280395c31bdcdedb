"""A plain table: a line per student, a column per exercise, the total."""

from __future__ import annotations

from pathlib import Path

from proctor.report.lms.gradebook import Gradebook, number, write_table


def write(book: Gradebook, out: Path) -> None:
    header = ["student", *book.exercises, "total"]
    write_table(out, [header, *([s.name, *map(number, s.earned), number(s.total)] for s in book)])
