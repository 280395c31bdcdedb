"""The class in numbers, counted one student at a time so that a large class needs no more memory than a small one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proctor.examining.result import HELPS, STATES, Help, Located, Result, State
from proctor.grading.journal import GradedSubmission
from proctor.grading.similarity import Likeness
from proctor.marking.assignment import Assignment, ExerciseSheet
from proctor.points.scheme import Mark, Marks, Scheme
from proctor.report.separation import Separation
from proctor.report.since import Since


@dataclass(frozen=True)
class Example:
    """An example of a mistake: a student and the evidence."""

    student: str
    evidence: str


@dataclass
class Mistake:
    """A misconception that occurred in the class, alone or together with another."""

    exercise: str
    name: str
    sentence: str
    reason: str
    example: Example
    count: int = 0


@dataclass
class Stop:
    """A way in which answers to an exercise ended before they were complete."""

    exercise: str
    why: str
    example: str
    count: int = 0


@dataclass(frozen=True)
class MistakeLocation:
    """The location of a mistake without a name in one answer; `new` is the edit that repairs it, if one was found."""

    student: str
    line: int | None
    old: str
    new: str


@dataclass
class Unnamed:
    """Mistakes of one exercise that have no name and are of one kind: candidates for a name."""

    exercise: str
    by: str
    kind: str
    places: list[MistakeLocation] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.places)


@dataclass
class Row:
    """One exercise over the whole class."""

    name: str
    points: float
    states: Counter[State] = field(default_factory=Counter)  # how many answers are in each state
    score: float = 0.0  # sum over the class
    mistakes: dict[str, Mistake] = field(default_factory=dict)
    stops: dict[str, Stop] = field(default_factory=dict)  # reason -> its count
    unnamed: dict[tuple[str, str], Unnamed] = field(default_factory=dict)  # (by, kind) -> mistakes without a name
    helps: Counter[Help | None] = field(default_factory=Counter)  # how those that do not pass were helped
    unexplained: int = 0  # number of answers without any explanation
    unexplained_example: Example | None = None
    separation: Separation = field(default_factory=Separation)

    def add(self, student: str, result: Result) -> None:
        self.states[result.state] += 1
        self.score += result.score
        if result.state == "passed":
            return
        if result.state in ("not_yet", "stopped"):
            self.helps[result.help] += 1
        example = Example(student, result.evidence[0] if result.evidence else "")
        if result.misconceptions:
            for name, why in zip(result.misconceptions, result.explanations, strict=False):
                new = Mistake(self.name, name, why.sentence, why.reason, example)
                self.mistakes.setdefault(name, new).count += 1
        elif result.resembles or result.located is not None:
            found = result.located or Located("resembles", result.resembles, example.evidence)
            group = self.unnamed.setdefault((found.by, found.kind), Unnamed(self.name, found.by, found.kind))
            group.places.append(MistakeLocation(student, result.line, found.old, found.new))
        elif result.state == "not_yet":
            self.unexplained += 1
            self.unexplained_example = self.unexplained_example or example
        elif result.state == "stopped":
            why_stopped = result.explanations[0].sentence.split(" at ")[0].rstrip(".") + "."  # not at which line
            self.stops.setdefault(why_stopped, Stop(self.name, why_stopped, student)).count += 1

    @property
    def students(self) -> int:
        return sum(self.states.values())

    @property
    def started(self) -> int:
        return self.students - self.states["not_started"]

    def share(self, state: State) -> float:
        return self.states[state] / max(self.students, 1)

    @property
    def mean(self) -> float:
        return self.score / max(self.students, 1)


@dataclass(frozen=True)
class Standing:
    """One student in one line."""

    student: str
    total: float  # points
    passed: int  # number of exercises
    started: int  # number of exercises


@dataclass(frozen=True)
class Corrected:
    """An answer that a person corrected or commented on."""

    student: str
    mark: Mark


class Tally:
    """Counts a class, whose students come in the order of names.

    Args:
        scheme: from scores to points.
        since: takes what changed since the run before.
    """

    def __init__(self, assignment: Assignment, scheme: Scheme | None = None, since: Since | None = None) -> None:
        self.assignment = assignment
        self.scheme = scheme or Scheme.of(assignment)
        self.since = since
        self.rows = {e.name: Row(e.name, self.scheme.worth(e.name)) for e in assignment.exercises}
        self.standings: list[Standing] = []
        self.notes: dict[str, tuple[str, ...]] = {}
        self.corrected: list[Corrected] = []
        self.late = 0  # number of students who lost points by it
        self.enough = 0  # number of students who reach the pass mark
        self.code = Likeness()

    def add(self, marked: GradedSubmission, marks: Marks | None = None) -> None:
        """Count a student, with the marks that the scheme gives."""
        marks = marks or self.scheme.marks_of(marked)
        for result in marked.results:
            row = self.rows[result.exercise]
            row.add(marked.student, result)
            if result.state != "not_started":
                row.separation.add(result.state == "passed", marks.total - marks[result.exercise].points)
        if self.since is not None:
            self.since.add(marked)
        self.corrected += [Corrected(marked.student, mark) for mark in marks if mark.correction]
        self.late += any(mark.late for mark in marks)
        self.enough += marks.passed is True
        states = Counter(result.state for result in marked.results)
        started = len(marked.results) - states["not_started"]
        self.standings.append(Standing(marked.student, marks.total, states["passed"], started))
        if marked.notes:
            self.notes[marked.student] = marked.notes
        self.code.add(marked.student, marked.code)

    def begun(self) -> list[ExerciseSheet]:
        """The sheets with an exercise that at least one student has begun, or was given points for by a person."""
        given = {corrected.mark.exercise for corrected in self.corrected}
        begun = given | {name for name, row in self.rows.items() if row.started}
        return [s for s in self.assignment.sheets if any(e.name in begun for e in s.exercises)]

    @property
    def points(self) -> float:
        """The points that can be earned in the sheets that were begun."""
        return self.scheme.possible(exercise.name for sheet in self.begun() for exercise in sheet.exercises)

    def mistakes(self) -> list[Mistake]:
        """All misconceptions of the class, most common first; those of one exercise in its order of appearance."""
        found = [mistake for row in self.rows.values() for mistake in row.mistakes.values()]
        order = list(self.rows)
        return sorted(found, key=lambda m: (-m.count, order.index(m.exercise), m.name))

    def unnamed(self) -> list[Unnamed]:
        """Mistakes that have no name but a place, grouped by exercise and kind, most common first."""
        return sorted((group for row in self.rows.values() for group in row.unnamed.values()), key=lambda g: -g.count)

    def stops(self) -> list[Stop]:
        """The reasons why answers were stopped, most common first."""
        return sorted((stop for row in self.rows.values() for stop in row.stops.values()), key=lambda s: -s.count)

    def states(self) -> Counter[State]:
        total: Counter[State] = Counter(dict.fromkeys(STATES, 0))
        for row in self.rows.values():
            total.update(row.states)
        return total

    def helps(self) -> Counter[Help | None]:
        """How the answers that do not pass were helped, in the order of `HELPS`; those with nothing come last."""
        counts: Counter[Help | None] = Counter()
        for row in self.rows.values():
            counts.update(row.helps)
        return Counter({kind: counts[kind] for kind in (*HELPS, None) if counts[kind]})

    def histogram(self, bins: int = 10) -> list[int]:
        """Number of students with a total in each tenth of the points; the best total counts to the last."""
        counts = [0] * bins
        most = self.points or 1.0
        for standing in self.standings:
            counts[min(int(standing.total / most * bins + 1e-9), bins - 1)] += 1
        return counts
