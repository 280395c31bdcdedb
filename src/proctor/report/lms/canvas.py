"""Canvas: the gradebook's own CSV. A column per exercise; one that Canvas does not know becomes an assignment.

Canvas looks a student up by ID, SIS ID, login and name, in this order. Whoever is in the roster has the ID, the login
and the name that it tells. Of the others Canvas gets the name of their folder, as login and as name.
"""

from __future__ import annotations

from pathlib import Path

from proctor.points.scheme import points_text
from proctor.report.lms.results import Gradebook
from proctor.report.lms.roster import Person
from proctor.tables import spreadsheet_text, write_table

STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def write_canvas(book: Gradebook, out: Path) -> None:
    header = [*STUDENT, *book.exercises]
    possible = ["    Points Possible", "", "", "", "", *map(points_text, book.exercises.values())]
    students = ([*canvas_columns(s.person, s.name), *map(points_text, s.earned)] for s in book)
    absent = ([*canvas_columns(person), *("" for _ in book.exercises)] for person in book.absent)
    write_table(out, [header, possible, *students, *absent])


def canvas_columns(person: Person | None, folder: str = "") -> list[str]:
    """The first columns of a line."""
    if person is None:
        return [spreadsheet_text(folder), "", "", spreadsheet_text(folder), ""]
    return [spreadsheet_text(person.name), person.id, "", person.login, ""]
