"""Corrections by a person: `corrections.csv`, one line per answer whose points are changed or commented on.

    folder,exercise,points,comment
    alice,rotate,0.75,The idea is right.
    bob,rotate,+0.5,
    carol,rotate,,Have a look at section 3.

`points` is what the answer gets, or with a sign what is added to the points of the check or taken from them; where it
is empty, the line is a comment alone. An answer gets neither less than nothing nor more than the exercise is worth. A
verdict is never changed: a correction stands beside it.

The file lies in the folder of results, is written by people and by programs, and survives every regrading. Columns
that are not used here are kept as they are.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.grading.journal import write_atomically
from proctor.tables import BadTable, Line, ended, key, parse_table, read_text, spreadsheet_text, text_of_cell

NAME = "corrections.csv"  # in the folder of results
COLUMNS = ("folder", "exercise", "points", "comment")
LONGEST = 5000  # characters of a comment
MOST_MISTAKES = 20  # that are listed


class BadCorrections(ValueError):
    """A file that cannot be used as it is; the message has a sentence for each mistake, with its line."""


@dataclass(frozen=True)
class Correction:
    """What a person says about one answer.

    Args:
        folder: the student, as in the results.
        exercise: by name.
        points: `0.75` gives so many, `+0.5` and `-0.5` change those of the check; empty for a comment alone.
        comment: for the student to read.
        more: (column, cell) of columns that the file has beside ours.
        line: of the file that it was read from, 0 for one that was not.
    """

    folder: str
    exercise: str
    points: str = ""
    comment: str = ""
    more: tuple[tuple[str, str], ...] = ()
    line: int = 0

    def __post_init__(self) -> None:
        amount(self.points)

    @property
    def changes_points(self) -> bool:
        return self.points != ""

    def applied(self, earned: float, worth: float) -> float:
        """The points after the correction of an answer that earned `earned` of `worth`."""
        given = amount(self.points)
        if given is None:
            return earned
        return round(min(max(earned + given if is_relative(self.points) else given, 0.0), worth), 4)


def is_relative(points: str) -> bool:
    return points.startswith(("+", "-"))


def amount(points: str) -> float | None:
    """The number in a text such as `0.75` or `+0.5`; None for an empty one.

    Raises:
        ValueError: it is none; the message says what is expected.
    """
    if not points:
        return None
    try:
        value = float(points) if points.isascii() and "_" not in points else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(
            f"{points!r} is no number of points: write 0.5, or +0.5 or -0.5 to change what the check gave, or nothing "
            "for a comment alone"
        )
    return value


class Corrections:
    """All corrections of a class, in the order of their file; at most one for an answer."""

    def __init__(self, corrections: Iterable[Correction] = ()) -> None:
        self._by_answer = {(key(c.folder), c.exercise): c for c in corrections}

    def __iter__(self) -> Iterator[Correction]:
        return iter(self._by_answer.values())

    def __len__(self) -> int:
        return len(self._by_answer)

    def find(self, student: str, exercise: str) -> Correction | None:
        """The correction of an answer; None if nobody corrected it."""
        return self._by_answer.get((key(student), exercise))

    def put(self, correction: Correction) -> None:
        """Add a correction, in the place of an earlier one of the same answer."""
        self._by_answer[key(correction.folder), correction.exercise] = correction

    def remove(self, student: str, exercise: str) -> None:
        """Let the verdict stand as it is."""
        self._by_answer.pop((key(student), exercise), None)

    def of_others(self, students: Iterable[str]) -> list[Correction]:
        """The corrections of folders that are not among these."""
        known = set(map(key, students))
        return [correction for correction in self if key(correction.folder) not in known]


def read(path: Path, worth: Mapping[str, float] | None = None) -> Corrections:
    """The corrections in a file; none if there is no such file.

    Args:
        path: of the file.
        worth: exercise -> the points that it is worth. If given, other exercises and more points are mistakes.

    Raises:
        BadCorrections: something in it is a mistake. All of them are named, and nothing is taken from such a file.
    """
    if not path.exists():
        return Corrections()
    try:
        table = parse_table(read_text(path), COLUMNS[:3], COLUMNS)
    except BadTable as error:
        raise BadCorrections(f"{path} cannot be used: {str(error).rstrip('.')}.") from None
    found: list[Correction] = []
    twice = [name for name in dict.fromkeys(table.header) if name and table.header.count(name) > 1]
    mistakes = [f"line 1: there are two columns {name}." for name in twice]
    lines: dict[tuple[str, str], int] = {}
    for line in table.lines:
        try:
            correction = correction_of(line, decimal_comma=table.separator != ",")
            check(correction, worth, lines)
        except ValueError as error:
            mistakes.append(f"line {line.number}: {ended(str(error))}")
        else:
            found.append(correction)
    if mistakes:
        shown = mistakes[:MOST_MISTAKES]
        shown += [f"and {len(mistakes) - len(shown)} more mistakes."] if len(mistakes) > len(shown) else []
        raise BadCorrections("\n  ".join([f"{path} cannot be used as it is:", *shown]))
    return Corrections(found)


def correction_of(line: Line, decimal_comma: bool) -> Correction:
    """The correction of one line.

    Raises:
        ValueError: a cell is not what it should be.
    """
    cells = {column: text_of_cell(cell) for column, cell in line.cells.items()}
    if line.beyond:
        raise ValueError(f"{line.beyond[0]!r} is under no column: a comment with commas in it stands between quotes")
    for name in COLUMNS[:2]:
        if not cells[name]:
            raise ValueError(f"there is no {name}")
    points, comment = cells["points"], cells.get("comment", "")
    if len(comment) > LONGEST:
        raise ValueError(f"the comment has {len(comment):,} characters; at most {LONGEST:,} are taken")
    if not points and not comment:
        raise ValueError("there are neither points nor a comment")
    points = points.replace(",", ".", 1) if decimal_comma else points
    more = tuple((column, cell) for column, cell in cells.items() if column not in COLUMNS)
    return Correction(cells["folder"], cells["exercise"], points, comment, more, line.number)


def check(correction: Correction, worth: Mapping[str, float] | None, lines: dict[tuple[str, str], int]) -> None:
    """Compare a correction with the exercises, and with the lines before it.

    Raises:
        ValueError: it contradicts them.
    """
    name, points = correction.exercise, amount(correction.points)
    if worth is not None and name not in worth:
        near = difflib.get_close_matches(name, worth, n=1)
        raise ValueError(f"there is no exercise {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    if worth is not None and points is not None and abs(points) > worth[name] + 1e-9:
        raise ValueError(f"{name} is worth {worth[name]:g}, and {correction.points} is more")
    first = lines.setdefault((key(correction.folder), name), correction.line)
    if first != correction.line:
        raise ValueError(f"{name} of {correction.folder!r} is corrected in line {first} already")


def write(path: Path, corrections: Iterable[Correction]) -> None:
    """Write a file that `read` reads as the same corrections; it appears whole or not at all."""
    kept = list(corrections)
    more = list(dict.fromkeys(column for correction in kept for column, _ in correction.more))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*COLUMNS, *more])
    for c in kept:
        others = dict(c.more)
        cells = [c.folder, c.exercise, c.comment, *(others.get(column, "") for column in more)]
        folder, exercise, comment, *rest = map(spreadsheet_text, cells)
        rows.writerow([folder, exercise, c.points, comment, *rest])
    write_atomically(path, text.getvalue())
