"""The roster: which folder of a class belongs to which student of the LMS.

A CSV file with a header. `folder`, `id` and `name` are needed; `login` and `email` are used where an LMS has a place
for them; other columns are ignored. It is the instructor's own file, so its ids are exported exactly as they are.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.marking.submissions import legible

NEEDED = ("folder", "id", "name")
USED = (*NEEDED, "login", "email")
LARGEST = 16 * 2**20  # bytes


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
        for person in self.people:
            self._by_folder.setdefault(key(legible(person.folder)), person)  # or as the disk does

    def find(self, student: str) -> Person | None:
        """The student who handed in under this name; None if the roster has no such folder."""
        return self._by_folder.get(key(student))

    def absent(self, students: Iterable[str]) -> list[Person]:
        """The students of the roster who are not among these."""
        present = set(map(self.find, students))
        return [person for person in self.people if person not in present]


def key(folder: str) -> str:
    """A key that is equal for two spellings of one name: some systems write ü as u with two dots."""
    return unicodedata.normalize("NFC", folder)


def read_roster(path: Path) -> Roster:
    """A roster from its file.

    Raises:
        BadRoster: it cannot be read, has no header or the wrong one, or two lines contradict each other.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BadRoster(f"the roster {path} cannot be read ({error.strerror}).") from None
    if len(content) > LARGEST:
        raise BadRoster(f"the roster {path} has more than {LARGEST // 2**20} MB: it is probably another file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRoster(f"the roster {path} is not text in UTF-8: save it as CSV UTF-8.") from None
    try:
        columns, people = parse_roster(text)
    except (BadRoster, csv.Error) as error:
        raise BadRoster(f"the roster {path} cannot be used: {str(error).rstrip('.')}.") from None
    return Roster(people, columns)


def parse_roster(text: str) -> tuple[list[str], list[Person]]:
    """The columns that are used, and the people."""
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)  # what a spreadsheet writes depends on its language
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header = [name.strip().lower() for name in next(lines, [])]
    if missing := [name for name in NEEDED if name not in header]:
        came = f"its first line is {first.strip()[:100]!r}" if first.strip() else "it is empty"
        raise BadRoster(f"it has no column {' and no column '.join(missing)}; {came}, and folder,id,name is expected")
    if twice := [name for name in USED if header.count(name) > 1]:
        raise BadRoster(f"it has two columns {twice[0]}")
    columns = [name for name in USED if name in header]
    people: list[Person] = []
    seen: dict[tuple[str, str], int] = {}
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        line = lines.line_num
        values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        for name in NEEDED[:2]:
            if not values.get(name):
                raise BadRoster(f"line {line} has no {name}")
            other = seen.setdefault((name, key(values[name])), line)
            if other != line:
                raise BadRoster(f"lines {other} and {line} both have the {name} {values[name]!r}")
        people.append(Person(**{name: values.get(name, "") for name in columns}))
    return columns, [replace(person, name=person.name or person.folder) for person in people]
