"""`collected.csv` in the results: which student of the download is which, what counted, and when it was handed in."""

from __future__ import annotations

import io
from csv import writer
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from proctor.collecting.collect import Collected
from proctor.collecting.upload import time_of
from proctor.grading.journal import write_atomically
from proctor.report.lms.roster import Person, Roster
from proctor.tables import BadTable, parse_table, read_text, spreadsheet_text, text_of_cell

NAME = "collected.csv"
COLUMNS = ("folder", "id", "name", "login", "email", "handed_in", "late", "same_as", "original", "files")
MOST_FILES = 20  # of one student that are listed


@dataclass(frozen=True)
class Listed:
    """One student of a class that was collected.

    Args:
        person: who it is.
        at: when it was handed in, if the download tells it.
        late: whether the LMS calls it late.
        same_as: the student of the same group whose submission it is.
        original: the name that the LMS wants back.
    """

    person: Person
    at: datetime | None
    late: bool
    same_as: str
    original: str


def write_listing(path: Path, collected: Collected) -> None:
    text = io.StringIO(newline="")
    rows = writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for student in collected.students:
        who = student.who
        files = "; ".join(student.files[:MOST_FILES]) + ("; …" if len(student.files) > MOST_FILES else "")
        cells = [who.folder, who.id, who.name, who.login, who.email]
        cells += [student.at.isoformat() if student.at else "", "late" if student.late else "", student.same_as]
        cells += [who.original, files]
        rows.writerow(map(spreadsheet_text, cells))
    write_atomically(path, text.getvalue())


def read_listing(path: Path) -> list[Listed]:
    """The students as `write_listing` wrote them; none if there is no such file.

    Raises:
        BadTable: the file was changed, and is no such list any more.
    """
    if not path.exists():
        return []
    try:
        lines = parse_table(read_text(path), COLUMNS[:1], COLUMNS).lines
    except BadTable as error:
        raise BadTable(f"{path} cannot be used: {str(error).rstrip('.')}.") from None
    cells = [{column: text_of_cell(cell) for column, cell in line.cells.items()} for line in lines]
    return [
        Listed(
            Person(c["folder"], *(c.get(name, "") for name in ("id", "name", "login", "email"))),
            time_of(c.get("handed_in", "")),
            c.get("late", "") != "",
            c.get("same_as", ""),
            c.get("original", ""),
        )
        for c in cells
    ]


def roster_of_listing(listed: list[Listed]) -> Roster | None:
    """Who is who, where the download itself told the ids."""
    people = [student.person for student in listed if student.person.id]
    return Roster(people) if people else None
