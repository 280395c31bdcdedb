"""`times.csv`: when students handed in, where the LMS does not tell it, or tells it wrong.

    folder,time
    anna,2026-11-10T22:15:00+01:00

A time without a zone is UTC. Who has none is not late.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from proctor.collecting.upload import time_of
from proctor.tables import BadTable, key, parse_table, read_text, text_of_cell

NAME = "times.csv"
COLUMNS = ("folder", "time")


def read_times(path: Path) -> dict[str, datetime]:
    """Student -> time, from a file.

    Raises:
        BadTable: something in it is a mistake; all of them are named.
    """
    try:
        table = parse_table(read_text(path), COLUMNS, COLUMNS)
    except BadTable as error:
        raise BadTable(f"{path} cannot be used: {str(error).rstrip('.')}.") from None
    found: dict[str, datetime] = {}
    lines: dict[str, int] = {}
    mistakes: list[str] = []
    for line in table.lines:
        folder, time = (text_of_cell(line.cells[column]) for column in COLUMNS)
        at = time_of(time)
        first = lines.setdefault(key(folder), line.number)
        if not folder:
            mistakes.append(f"line {line.number}: there is no folder.")
        elif at is None:
            mistakes.append(f"line {line.number}: {time!r} is no time: write 2026-11-10T22:15:00+01:00.")
        elif first != line.number:
            mistakes.append(f"line {line.number}: {folder} has a time in line {first} already.")
        else:
            found[folder] = at
    if mistakes:
        raise BadTable("\n  ".join([f"{path} cannot be used as it is:", *mistakes]))
    return found
