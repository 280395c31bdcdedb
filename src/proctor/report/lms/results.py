"""A graded class as it was written: student by student, read from results.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from proctor.points.scheme import Marks, Scheme
from proctor.report.lms.roster import Person, Roster
from proctor.tables import key


class CannotExport(ValueError):
    """Results that the requested format cannot hold; the message says why."""


@dataclass(frozen=True)
class Student:
    """One student's lines of results.jsonl, with the points that they earn."""

    name: str
    rows: tuple[dict[str, Any], ...]  # one per exercise
    marks: Marks
    person: Person | None = None  # the entry of the roster

    @property
    def earned(self) -> tuple[float, ...]:
        """Points per exercise."""
        return tuple(mark.points for mark in self.marks)

    @property
    def total(self) -> float:
        return self.marks.total


@dataclass(frozen=True)
class Choice:
    """Which students and which exercises are asked for; None stands for all.

    Args:
        students: their names, as `proctor.tables.key` writes them.
        exercises: by name.
    """

    students: frozenset[str] | None = None
    exercises: frozenset[str] | None = None

    def takes(self, student: str) -> bool:
        return self.students is None or key(student) in self.students

    def asks(self, exercise: str) -> bool:
        return self.exercises is None or exercise in self.exercises


class Gradebook:
    """Reads a class. Students come one at a time, so that a large class needs no more memory than a small one.

    Args:
        path: of results.jsonl.
        scheme: from scores to points.
        program: the package whose command line graded the class.
        roster: who is who, if somebody said it.
        choice: of students and exercises.
    """

    def __init__(
        self, path: Path, scheme: Scheme, program: str, roster: Roster | None = None, choice: Choice | None = None
    ) -> None:
        self.path = path
        self.scheme = scheme
        self.program = program
        self.roster = roster
        self.choice = choice or Choice()

    def __iter__(self) -> Iterator[Student]:
        try:
            with self.path.open(encoding="utf-8") as file:
                for name, lines in groupby(map(json.loads, file), key=lambda row: row["student"]):
                    rows = tuple(row for row in lines if self.choice.asks(row["exercise"]))
                    if not self.choice.takes(name):
                        continue
                    marks = self.scheme.marks(name, ((row["exercise"], row["score"]) for row in rows))
                    yield Student(name, rows, marks, self.roster.find(name) if self.roster else None)
        except (ValueError, KeyError, TypeError) as error:
            raise CannotExport(
                f"{self.path} is damaged ({type(error).__name__}: {error}). Grade again to write it anew."
            ) from None

    @cached_property
    def students(self) -> list[str]:
        """The names of all students."""
        return [student.name for student in self]

    @cached_property
    def unknown(self) -> list[str]:
        """Folders that the roster does not name."""
        return [student.name for student in self if student.person is None] if self.roster else []

    @cached_property
    def not_applied(self) -> list[str]:
        """The folders of corrections that are not in these results."""
        others = self.scheme.corrections.of_others(student.name for student in self)
        return list(dict.fromkeys(c.folder for c in others if self.choice.students is None))

    @cached_property
    def absent(self) -> list[Person]:
        """Students of the roster who handed in nothing."""
        if self.roster is None or self.choice.students is not None:
            return []
        return self.roster.absent(student.name for student in self)

    def worth(self, exercise: str) -> float:
        return self.scheme.worth(exercise)

    @cached_property
    def exercises(self) -> dict[str, float]:
        """Exercise -> what it is worth, in the order of the class's results."""
        first = next(iter(self), None)
        return {row["exercise"]: self.worth(row["exercise"]) for row in first.rows} if first else {}
