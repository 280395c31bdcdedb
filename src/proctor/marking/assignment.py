"""Assignments: sheets of exercises, and the modules that a submission may import for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from proctor.examining.exercise import Exercise, Question
from proctor.examining.weights import WeightsExercise
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import File
from proctor.source.text import at_their_lines


@dataclass(frozen=True)
class ExerciseSheet:
    """Exercises that belong together, such as those of one chapter.

    Args:
        title: how a report speaks of it.
        exercises: those that are graded.
        names: all exercises of the sheet that are answered by code, in their order, graded or not.
        module: name of the module that holds the references.
        source: its text; what later exercises build on is cut out of it.
        modules: full name -> text of what a submission may import: the parts that earlier sheets built.
        earlier: exercises of earlier sheets -> the module in `modules` that has them.
    """

    title: str
    exercises: tuple[Question, ...]
    names: tuple[str, ...]
    module: str = ""
    source: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)
    earlier: Mapping[str, str] = field(default_factory=dict)

    def before(self, name: str) -> tuple[str, ...]:
        """The exercises of this sheet that come before one."""
        return self.names[: self.names.index(name)]

    def reference_before(self, name: str) -> str:
        """The references of earlier exercises with all that they use; nothing of this one or of later ones."""
        parts = self.before(name)
        slice_ = self._reference.slice(0, parts)
        kept = [d for d in slice_.definitions if d.is_import or not d.binds & (set(self.names) - set(parts))]
        return at_their_lines(kept)

    @cached_property
    def _reference(self) -> Answers:
        return Answers([extract(File("reference.py", self.source.encode()))])


@dataclass(frozen=True)
class Assignment:
    """All exercises that a class is graded on.

    Args:
        title: how a report speaks of it.
        sheets: in order.
        setup: code that runs before each submission, such as the imports of the handed-out notebooks.
        modules: full name -> text of what every submission may import and holds no answer.
        inert: modules of the course that can be imported and do nothing, such as its figures.
        rehearsal: code such as students write, run once before anybody's: what is slow the first time is then done.
        own: every exercise of the course that code answers, asked or not, in order -> the file on this machine that has
            the course's own answer.
    """

    title: str
    sheets: tuple[ExerciseSheet, ...]
    setup: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)
    inert: tuple[str, ...] = ()
    rehearsal: str = ""
    own: Mapping[str, str] = field(default_factory=dict)

    @property
    def exercises(self) -> list[Question]:
        return [exercise for sheet in self.sheets for exercise in sheet.exercises]

    @property
    def of_code(self) -> list[Exercise]:
        return [exercise for exercise in self.exercises if isinstance(exercise, Exercise)]

    @property
    def of_weights(self) -> list[WeightsExercise]:
        return [exercise for exercise in self.exercises if isinstance(exercise, WeightsExercise)]

    @property
    def public_modules(self) -> dict[str, str]:
        """The modules that may be imported and hold no answer: full name -> text."""
        return {
            name: text
            for sheet in self.sheets
            for name, text in sheet.modules.items()
            if name not in sheet.earlier.values()
        }

    def withheld(self, name: str) -> dict[tuple[str, str], str]:
        """The functions that an answer may not call where the course is installed: the course's own answers to this
        exercise and to later ones. In the form that `proctor.forbid.watch` takes."""
        names = list(self.own)
        behind = names[names.index(name) :] if name in self.own else []
        return {(self.own[other], other): f"the course's own {other}" for other in behind}

    @property
    def packages(self) -> frozenset[str]:
        """The top-level packages of the course: no student's file is called so, and no sandbox can read them."""
        modules = [*self.modules, *self.inert, *(sheet.module for sheet in self.sheets if sheet.module)]
        return frozenset(name.partition(".")[0] for name in modules)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)
