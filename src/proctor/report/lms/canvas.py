"""Canvas: the gradebook's own CSV. A column per exercise; one that Canvas does not know becomes an assignment.

Canvas looks a student up by ID, SIS ID, login and name, in this order. Whoever is in the roster has the ID, the login
and the name that it tells. Of the others Canvas gets the name of their folder, as login and as name.
"""

from __future__ import annotations

from pathlib import Path

from proctor.report.lms.results import Gradebook, number, words, write_table
from proctor.report.lms.roster import Person

STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def write(book: Gradebook, out: Path) -> None:
    header = [*STUDENT, *book.exercises]
    possible = ["    Points Possible", "", "", "", "", *map(number, book.exercises.values())]
    students = ([*who(s.person, s.name), *map(number, s.earned)] for s in book)
    absent = ([*who(person), *("" for _ in book.exercises)] for person in book.absent)
    write_table(out, [header, possible, *students, *absent])


def who(person: Person | None, folder: str = "") -> list[str]:
    """The first columns of a line."""
    if person is None:
        return [words(folder), "", "", words(folder), ""]
    return [words(person.name), person.id, "", person.login, ""]
