"""The roster: which folder of a class belongs to which student of the LMS.

A CSV file with a header. `folder`, `id` and `name` are needed; `login` and `email` are used where an LMS has a place
for them; other columns are ignored. It is the instructor's own file, so its ids are exported exactly as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.marking.submissions import legible
from proctor.tables import BadTable, key, parse_table, read_text

NEEDED = ("folder", "id", "name")
USED = (*NEEDED, "login", "email")


class BadRoster(ValueError):
    """A file that is no roster; the message says what is wrong, and where."""


@dataclass(frozen=True)
class Person:
    """One student as the LMS knows them."""

    folder: str
    id: str
    name: str
    login: str = ""
    email: str = ""


class Roster:
    """The students of a class, found by the names of their folders.

    Args:
        people: each with a folder and an id of their own.
        columns: what the file had, of USED.
    """

    def __init__(self, people: Iterable[Person], columns: Iterable[str] = USED) -> None:
        self.people = list(people)
        self.columns = tuple(columns)
        self._by_folder = {key(person.folder): person for person in self.people}  # as results spell it,
        self._known: dict[str, dict[str, list[Person]]] = {}  # column -> value -> who has it
        for person in self.people:
            self._by_folder.setdefault(key(legible(person.folder)), person)  # or as the disk does

    def find(self, student: str) -> Person | None:
        """The student who handed in under this name; None if the roster has no such folder."""
        return self._by_folder.get(key(student))

    def known_as(self, **values: str) -> Person | None:
        """The only student with one of these values, such as `id`; None if there is none, or several."""
        for column, value in values.items():
            same = self._with(column).get(value.casefold(), [])
            if value and len(same) == 1:
                return same[0]
        return None

    def _with(self, column: str) -> dict[str, list[Person]]:
        if column not in self._known:
            self._known[column] = {}
            for person in self.people:
                self._known[column].setdefault(getattr(person, column).casefold(), []).append(person)
        return self._known[column]

    def absent(self, students: Iterable[str]) -> list[Person]:
        """The students of the roster who are not among these."""
        present = set(map(self.find, students))
        return [person for person in self.people if person not in present]


def read_roster(path: Path) -> Roster:
    """A roster from its file.

    Raises:
        BadRoster: it cannot be read, has no header or the wrong one, or two lines contradict each other.
    """
    try:
        text = read_text(path)
    except BadTable as error:
        raise BadRoster(f"the roster {path} {error}") from None
    try:
        columns, people = parse_roster(text)
    except BadTable as error:
        raise BadRoster(f"the roster {path} cannot be used: {str(error).rstrip('.')}.") from None
    return Roster(people, columns)


def parse_roster(text: str) -> tuple[list[str], list[Person]]:
    """The columns that are used, and the people."""
    table = parse_table(text, NEEDED, USED)
    columns = [name for name in USED if name in table.header]
    people: list[Person] = []
    seen: dict[tuple[str, str], int] = {}
    for found in table.lines:
        line, values = found.number, found.cells
        for name in NEEDED[:2]:
            if not values.get(name):
                raise BadTable(f"line {line} has no {name}")
            other = seen.setdefault((name, key(values[name])), line)
            if other != line:
                raise BadTable(f"lines {other} and {line} both have the {name} {values[name]!r}")
        people.append(Person(**{name: values.get(name, "") for name in columns}))
    return columns, [replace(person, name=person.name or person.folder) for person in people]
