"""A graded class as it was written: student by student, read from results.jsonl."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from proctor.report.lms.roster import Person, Roster

RUNS = tuple("=+-@\t\r\n＝＋－＠")  # a cell that begins so is a formula to some spreadsheet


class CannotExport(ValueError):
    """Results that the requested format cannot hold; the message says why."""


@dataclass(frozen=True)
class Student:
    """One student's lines of results.jsonl, with the points that they earn."""

    name: str
    rows: tuple[dict[str, Any], ...]  # one per exercise
    earned: tuple[float, ...]  # points per exercise
    person: Person | None = None  # the entry of the roster

    @property
    def total(self) -> float:
        return sum(self.earned)


class Gradebook:
    """Reads a class. Students come one at a time, so that a large class needs no more memory than a small one.

    Args:
        path: of results.jsonl.
        points: exercise -> what it is worth.
        program: the package whose command line graded the class.
        roster: who is who, if somebody said it.
    """

    def __init__(self, path: Path, points: Mapping[str, float], program: str, roster: Roster | None = None) -> None:
        self.path = path
        self._points = points
        self.program = program
        self.roster = roster

    def __iter__(self) -> Iterator[Student]:
        try:
            with self.path.open(encoding="utf-8") as file:
                for name, lines in groupby(map(json.loads, file), key=lambda row: row["student"]):
                    rows = tuple(lines)
                    earned = tuple(round(row["score"] * self.worth(row["exercise"]), 4) for row in rows)
                    yield Student(name, rows, earned, self.roster.find(name) if self.roster else None)
        except (ValueError, KeyError, TypeError) as error:
            raise CannotExport(
                f"{self.path} is damaged ({type(error).__name__}: {error}). Grade again to write it anew."
            ) from None

    @cached_property
    def unknown(self) -> list[str]:
        """Folders that the roster does not name."""
        return [student.name for student in self if student.person is None] if self.roster else []

    @cached_property
    def absent(self) -> list[Person]:
        """Students of the roster who handed in nothing."""
        return self.roster.absent(student.name for student in self) if self.roster else []

    def worth(self, exercise: str) -> float:
        return self._points.get(exercise, 1.0)

    @cached_property
    def exercises(self) -> dict[str, float]:
        """Exercise -> what it is worth, in the order of the class's results."""
        first = next(iter(self), None)
        return {row["exercise"]: self.worth(row["exercise"]) for row in first.rows} if first else {}


def points_text(value: float) -> str:
    """Points without noise: 1, 0.75, 0.6667."""
    return f"{round(value, 4):.10g}"


def spreadsheet_text(text: str) -> str:
    """Text of others, such as a name, for a table cell: an apostrophe before anything a spreadsheet would run.

    An apostrophe before such an apostrophe, too, so that two names never become one.
    """
    return f"'{text}" if text.lstrip("'").startswith(RUNS) else text


def write_table(out: Path, rows: Iterable[Iterable[object]]) -> None:
    """A CSV file in UTF-8."""
    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        csv.writer(file).writerows(rows)
