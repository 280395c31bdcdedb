"""A plain table: a line per student, a column per exercise, the total; with a roster, whose folder it is."""

from __future__ import annotations

from pathlib import Path

from proctor.report.lms.results import Gradebook, number, words, write_table
from proctor.report.lms.roster import Person


def write(book: Gradebook, out: Path) -> None:
    known = book.roster is not None
    header = ["student", *(["id", "name"] if known else []), *book.exercises, "total"]
    students = (
        [words(s.name), *(who(s.person) if known else []), *map(number, s.earned), number(s.total)] for s in book
    )
    absent = ([words(p.folder), *who(p), *("" for _ in book.exercises), ""] for p in book.absent)
    write_table(out, [header, *students, *absent])


def who(person: Person | None) -> list[str]:
    return ["", ""] if person is None else [person.id, words(person.name)]
