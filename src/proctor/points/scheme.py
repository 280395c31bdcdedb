"""The points of a class: from the scores of the check to what stands in the gradebook, and how that came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from proctor.grading.journal import GradedSubmission
from proctor.marking.assignment import Assignment
from proctor.points.corrections import Correction, Corrections
from proctor.points.policy import Best, Policy
from proctor.tables import key


@dataclass(frozen=True)
class Mark:
    """The points of one answer.

    Args:
        exercise: by name.
        worth: the points that it can earn.
        verdict: those that the check gave.
        points: those that it has in the end.
        correction: what a person said about it.
        steps: how the points came about, in sentences; none if they are those of the check.
        counts: whether they are in the total.
        late: whether points were taken off, since it was late.
    """

    exercise: str
    worth: float
    verdict: float
    points: float
    correction: Correction | None = None
    steps: tuple[str, ...] = ()
    counts: bool = True
    late: bool = False

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
    """All marks of one student, in the order of the exercises.

    Args:
        of: exercise -> mark.
        best: of what only some count.
        needed: points to pass; None if that is not asked.
    """

    of: Mapping[str, Mark]
    best: tuple[Best, ...] = ()
    needed: float | None = None

    def __iter__(self) -> Iterator[Mark]:
        return iter(self.of.values())

    def __getitem__(self, exercise: str) -> Mark:
        return self.of[exercise]

    @property
    def total(self) -> float:
        return sum(mark.points for mark in self if mark.counts)

    @property
    def passed(self) -> bool | None:
        """Are the points enough to pass? None if that is not asked."""
        return None if self.needed is None else self.total >= self.needed - 1e-9

    def possible(self, exercises: Iterable[str]) -> float:
        """The points that these exercises can bring together."""
        return possible({name: self.of[name].worth for name in exercises}, self.best)


class Scheme:
    """How scores become points: what exercises are worth, what a person corrected, the policy, and the times.

    Args:
        worth: exercise -> the points that it can earn; 1 where it says nothing.
        corrections: by a person.
        policy: of the course.
        times: student -> when it was handed in; whoever is not in it is not late.
    """

    def __init__(
        self,
        worth: Mapping[str, float],
        corrections: Corrections | None = None,
        policy: Policy | None = None,
        times: Mapping[str, datetime] | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self._worth = worth
        self.corrections = corrections or Corrections()
        self.times = {key(student): at for student, at in (times or {}).items()}

    @classmethod
    def of(cls, assignment: Assignment) -> Scheme:
        """What the exercises themselves say."""
        return cls({exercise.name: exercise.points for exercise in assignment.exercises})

    def worth(self, exercise: str) -> float:
        return self.policy.points[exercise] if exercise in self.policy.points else self._worth.get(exercise, 1.0)

    def possible(self, exercises: Iterable[str]) -> float:
        """The points that these exercises can bring together."""
        return possible({name: self.worth(name) for name in exercises}, self.policy.best)

    def marks_of(self, marked: GradedSubmission) -> Marks:
        return self.marks(marked.student, ((result.exercise, result.score) for result in marked.results))

    def marks(self, student: str, scores: Iterable[tuple[str, float]]) -> Marks:
        """The marks of a student, from (exercise, score between 0 and 1)."""
        of = {exercise: self.mark(student, exercise, score) for exercise, score in scores}
        for rule in self.policy.best:
            of |= left_out(of, rule)
        return Marks(of, self.policy.best, self.needed(of))

    def needed(self, exercises: Iterable[str]) -> float | None:
        """The points that are needed to pass."""
        mark = self.policy.pass_mark
        return mark * self.possible(exercises) if mark is not None and self.policy.pass_share else mark

    def mark(self, student: str, exercise: str, score: float) -> Mark:
        worth = self.worth(exercise)
        verdict = points = round(score * worth, 4)
        steps: list[str] = []
        correction = self.corrections.find(student, exercise)
        if correction is not None and correction.changes_points:
            points = correction.applied(verdict, worth)
            steps.append(
                f"The check gave {points_text(verdict)} of {points_text(worth)}; "
                f"a person corrected it to {points_text(points)}."
            )
        late = False
        at = self.times.get(key(student))
        if points and at is not None and (days := self.policy.days_late(student, exercise, at)):
            factor, late = self.policy.factor(days), True
            before, points = points, round(points * factor, 4)
            due = self.policy.due_for(student, exercise)
            extended = " with an extension" if due != self.policy.due[exercise] else ""
            steps.append(
                f"Handed in {at:%Y-%m-%d %H:%M} UTC, due {due:%Y-%m-%d %H:%M} UTC{extended}: {days} "
                f"{'day' if days == 1 else 'days'} late, so {points_text(before)} × {factor:g} = {points_text(points)}."
            )
        return Mark(exercise, worth, verdict, points, correction, tuple(steps), late=late)


def left_out(marks: Mapping[str, Mark], rule: Best) -> dict[str, Mark]:
    """The marks that do not count, since others bring more."""
    brought = {
        name: sum(marks[exercise].points for exercise in exercises if exercise in marks)
        for name, exercises in rule.of.items()
        if any(exercise in marks for exercise in exercises)
    }
    ranked = sorted(brought, key=lambda name: -brought[name])  # of equal ones, the first
    sentence = f"This does not count: of {', '.join(rule.of)}, the best {rule.count} do."
    return {
        exercise: replace(marks[exercise], counts=False, steps=(*marks[exercise].steps, sentence))
        for name in ranked[rule.count :]
        for exercise in rule.of[name]
        if exercise in marks
    }


def possible(worth: Mapping[str, float], best: Iterable[Best]) -> float:
    """The points that exercises can bring, if of some only the best count."""
    left = dict(worth)
    total = 0.0
    for rule in best:
        sums = [
            sum(left.pop(exercise) for exercise in exercises if exercise in left)
            for exercises in rule.of.values()
            if any(exercise in left for exercise in exercises)
        ]
        total += sum(sorted(sums, reverse=True)[: rule.count])
    return total + sum(left.values())


def points_text(value: float) -> str:
    """Points without noise: 1, 0.75, 0.6667."""
    return f"{round(value, 4):.10g}"
