"""The points of a class: from the scores of the check to what stands in the gradebook, and how that came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from proctor.grading.journal import GradedSubmission
from proctor.marking.assignment import Assignment
from proctor.points.corrections import Correction, Corrections


@dataclass(frozen=True)
class Mark:
    """The points of one answer.

    Args:
        exercise: by name.
        worth: the points that it can earn.
        verdict: those that the check gave.
        points: those that count.
        correction: what a person said about it.
    """

    exercise: str
    worth: float
    verdict: float
    points: float
    correction: Correction | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """How the points came about, in sentences; none if they are those of the check."""
        if self.correction is None or not self.correction.changes_points:
            return ()
        return (
            f"The check gave {points_text(self.verdict)} of {points_text(self.worth)}; "
            f"a person corrected it to {points_text(self.points)}.",
        )

    @property
    def comment(self) -> str:
        """What a person wrote to the student."""
        return self.correction.comment if self.correction else ""

    @property
    def told(self) -> str:
        """Steps and comment as text; empty if the verdict stands alone."""
        return "\n".join([*self.steps, *([f"Comment: {self.comment}"] if self.comment else [])])


@dataclass(frozen=True)
class Marks:
    """All marks of one student, in the order of the exercises."""

    of: Mapping[str, Mark]

    def __iter__(self) -> Iterator[Mark]:
        return iter(self.of.values())

    def __getitem__(self, exercise: str) -> Mark:
        return self.of[exercise]

    @property
    def total(self) -> float:
        return sum(mark.points for mark in self)


class Scheme:
    """What exercises are worth, and what a person corrected.

    Args:
        worth: exercise -> the points that it can earn; 1 where it says nothing.
        corrections: by a person.
    """

    def __init__(self, worth: Mapping[str, float], corrections: Corrections | None = None) -> None:
        self._worth = worth
        self.corrections = corrections or Corrections()

    @classmethod
    def of(cls, assignment: Assignment, corrections: Corrections | None = None) -> Scheme:
        return cls({exercise.name: exercise.points for exercise in assignment.exercises}, corrections)

    def worth(self, exercise: str) -> float:
        return self._worth.get(exercise, 1.0)

    def marks(self, student: str, scores: Iterable[tuple[str, float]]) -> Marks:
        """The marks of a student, from (exercise, score between 0 and 1)."""
        return Marks({exercise: self.mark(student, exercise, score) for exercise, score in scores})

    def marks_of(self, marked: GradedSubmission) -> Marks:
        return self.marks(marked.student, ((result.exercise, result.score) for result in marked.results))

    def mark(self, student: str, exercise: str, score: float) -> Mark:
        worth = self.worth(exercise)
        verdict = round(score * worth, 4)
        correction = self.corrections.find(student, exercise)
        points = verdict if correction is None else correction.applied(verdict, worth)
        return Mark(exercise, worth, verdict, points, correction)


def points_text(value: float) -> str:
    """Points without noise: 1, 0.75, 0.6667."""
    return f"{round(value, 4):.10g}"
