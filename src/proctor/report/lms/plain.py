"""A plain table: a line per student, a column per exercise, the total; with a roster, whose folder it is."""

from __future__ import annotations

from pathlib import Path

from proctor.points.scheme import points_text
from proctor.report.lms.results import Gradebook
from proctor.report.lms.roster import Person
from proctor.tables import spreadsheet_text, write_table


def write_plain(book: Gradebook, out: Path) -> None:
    known = book.roster is not None
    header = ["student", *(["id", "name"] if known else []), *book.exercises, "total"]
    students = (
        [
            spreadsheet_text(s.name),
            *(plain_columns(s.person) if known else []),
            *map(points_text, s.earned),
            points_text(s.total),
        ]
        for s in book
    )
    absent = ([spreadsheet_text(p.folder), *plain_columns(p), *("" for _ in book.exercises), ""] for p in book.absent)
    write_table(out, [header, *students, *absent])


def plain_columns(person: Person | None) -> list[str]:
    return ["", ""] if person is None else [person.id, spreadsheet_text(person.name)]
