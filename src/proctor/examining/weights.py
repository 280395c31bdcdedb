"""An exercise that is answered by weights: a file of tensors, measured by the trusted side. No code of a student runs.

The course says which tensors are asked for, builds a model of its own from them, and draws the data. Each measure is a
number with a bar that it has to reach; each earns the same share of the points. A mistake is a function that looks at
the weights of an answer that does not pass, and gives its evidence, or nothing if it is another mistake: they are tried
in order, and the first that finds something is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import torch

from proctor.examining.exercise import Question, paragraphs
from proctor.examining.result import Explanation, Result
from proctor.examining.tensor_file import BadFile, Layout, Weights, read_tensors
from proctor.inside.inputs import Salted, drawing, generator

T = TypeVar("T")
N = TypeVar("N", bound="Callable[[Look], float]")
M = TypeVar("M", bound="Callable[[Look], str]")
E = TypeVar("E", bound=Callable[[Weights], Weights])
WIDTH = 48  # characters of a drawn scale


@dataclass(frozen=True)
class Measure:
    """A number computed from weights, with an upper or a lower bound."""

    name: str
    function: Callable[[Look], float]
    says: str  # with {} for the number
    number: str  # how it is written, as `format` takes it
    at_most: float = math.inf  # upper bound
    at_least: float = -math.inf  # lower bound
    scale: tuple[tuple[str, float], ...] = ()  # numbers to compare it with, in words, the best one first
    means: tuple[tuple[float, str], ...] = ()  # from a value on, what it means; the largest first

    def passes(self, value: float) -> bool:
        """Is the value within the bounds? NaN never is."""
        return self.at_least <= value <= self.at_most

    @property
    def bar(self) -> float:
        return self.at_most if math.isfinite(self.at_most) else self.at_least

    def meaning(self, value: float) -> str:
        """What a value that does not pass means; empty if nothing is known of it."""
        return next((words for least, words in self.means if value >= least), "") if not self.passes(value) else ""

    def sentence(self, value: float) -> str:
        side = "at most" if math.isfinite(self.at_most) else "at least"
        said = self.says.format(format(value, self.number))
        return f"{self.name}: {said}; {side} {format(self.bar, self.number)} is asked"

    def drawing(self, value: float) -> Iterator[str]:
        """A drawn scale from the best possible number to the worst reference number, with this value and the bound."""
        if not self.scale or not math.isfinite(value):
            return
        least, most = self.scale[0][1], self.scale[-1][1]

        def place(number: float) -> int:
            return round(WIDTH * min(max((number - least) / (most - least), 0.0), 1.0))

        line = ["─"] * (WIDTH + 1)
        for _, number in self.scale:
            line[place(number)] = "┼"
        line[place(self.bar)] = "┃"
        line[place(value)] = "●"
        beyond = "▸" if value > most else ""
        yield f"{''.join(line)}{beyond}"
        yield "● yours, ┃ what is asked, ┼ " + ", ".join(
            f"{words} {format(number, self.number)}" for words, number in self.scale
        )


@dataclass(frozen=True)
class Mistake:
    """A classic mistake as a question to the weights."""

    name: str
    function: Callable[[Look], str]  # the evidence for it, with its number; empty if it was not made
    explanation: Explanation


@dataclass
class Look:
    """The state of judging one answer: the file, the model built from it, the data, and the measured numbers."""

    weights: Weights  # as read from the file
    model: Any  # as `WeightsExercise.build` made it
    data: Any  # as `WeightsExercise.draw` made it
    numbers: dict[str, float] = field(default_factory=dict)  # measure -> its value
    _known: dict[Any, Any] = field(default_factory=dict)

    def once(self, find: Callable[[Look], T]) -> T:
        """The cached result of a function of this object."""
        if find not in self._known:
            self._known[find] = find(self)
        found: T = self._known[find]
        return found


class WeightsExercise(Question):
    """An exercise that is answered by weights: measures with bounds, named mistakes.

    Args:
        name: of the exercise.
        layout: gives the tensors that are asked for, by what a file's metadata say.
        build: makes a model of the course's from weights that have this layout.
        draw: makes fresh data with a generator that depends on the salt.
        situation: completes "Seen on …".
        cell: the line of a notebook that writes the file.
    """

    def __init__(
        self,
        name: str,
        *,
        layout: Layout,
        build: Callable[[Weights], Any],
        draw: Callable[[torch.Generator], Any],
        situation: str,
        cell: str,
        section: str,
        hints: Sequence[str],
        points: float = 1.0,
        minutes: int | None = None,
        difficulty: int | None = None,
        why: str = "",
    ) -> None:
        super().__init__(name, section, hints, points, minutes, difficulty, why)
        self.layout, self.build, self.draw = layout, build, draw
        self.situation = situation
        self.cell = cell
        self.measures: dict[str, Measure] = {}
        self.misconceptions: dict[str, Mistake] = {}
        self.examples: dict[str, tuple[str, Callable[[Weights], Weights]]] = {}  # of a mistake, made from right weights

    @property
    def file(self) -> str:
        """The name of the file that is handed in."""
        return f"{self.name}.safetensors"

    @property
    def stub(self) -> str:
        """The cell of a notebook that hands it in."""
        return f"{self.cell}  # writes {self.file}"

    def __repr__(self) -> str:
        return f"WeightsExercise({self.name}, {len(self.measures)} measures, {len(self.misconceptions)} mistakes)"

    def counted(self) -> Mapping[str, Measure]:
        return self.measures

    def functions(self) -> list[Callable[..., Any]]:
        return [*(m.function for m in self.measures.values()), *(m.function for m in self.misconceptions.values())]

    def measure(self, says: str, number: str, **bar: Any) -> Callable[[N], N]:
        """Add a measure, with `at_most` or `at_least` as its bar."""

        def add(function: N) -> N:
            name = function.__name__
            self.measures[name] = Measure(name, function, says, number, **bar)
            return function

        return add

    def mistake(self, function: M) -> M:
        """Add a mistake, tried after those before it. Docstring: the sentence for the student, then the reason."""
        name = function.__name__
        self.misconceptions[name] = Mistake(name, function, Explanation(*paragraphs(function)))
        return function

    def example(self, mistake: Callable[[Look], str] | str) -> Callable[[E], E]:
        """Add weights that make a mistake, made from right ones: they prove that it is named."""
        name = mistake if isinstance(mistake, str) else mistake.__name__

        def add(function: E) -> E:
            self.examples[function.__name__] = name, function
            return function

        return add


# What is wrong with a file itself; `tensor_file` says which tensor it is.
REASONS = {
    "tensor_missing": "The model is built from the tensors by their names, so all of them have to be there.",
    "tensor_surplus": "A tensor that the model has no place for would never be used.",
    "tensor_misshapen": "The sizes in the file's metadata say which shape each tensor has.",
    "tensor_of_another_dtype": "Convert the model to float32 before you hand it in.",
    "not_finite": "A training that diverged leaves NaN behind, and every number that is computed from it is NaN. A "
    "smaller learning rate, a warm-up, or clipped gradients keep it from diverging.",
}


class WeightsJudge:
    """The judge of one weights exercise under one salt; its data are drawn once."""

    def __init__(self, exercise: WeightsExercise, salt: str = "") -> None:
        self.exercise, self.salt = exercise, salt

    @cached_property
    def data(self) -> Any:
        with drawing(Salted(self.salt)), one_thread():
            return self.exercise.draw(generator(self.exercise.name))

    def judge(self, content: bytes) -> Result:
        """The verdict on a file."""
        try:
            weights = read_tensors(content, self.exercise.layout)
        except BadFile as error:
            return self.refused(str(error), error.mistake)
        measures = self.exercise.measures.values()
        with torch.no_grad(), one_thread():
            look = Look(weights, self.exercise.build(weights), self.data)
            for measure in measures:
                look.numbers[measure.name] = measure.function(look)
            passed = sum(measure.passes(look.numbers[measure.name]) for measure in measures)
            mistake, evidence = (None, "") if passed == len(measures) else self.named(look)
        lines = [measure.sentence(look.numbers[measure.name]) for measure in measures]
        lines += [line for measure in measures for line in measure.drawing(look.numbers[measure.name])]
        result = Result(
            self.exercise.name,
            "passed",
            passed / len(measures),
            passed,
            len(measures),
            situation=self.exercise.situation,
            evidence=(*([evidence] if evidence else []), *lines),
        )
        if passed == len(measures):
            return result
        meanings = [words for m in measures if (words := m.meaning(look.numbers[m.name]))]
        said = (Explanation(meanings[0]),) if meanings else (UNNAMED,)
        result = replace(result, state="not_yet", explanations=said, next_step=self.next_step, help="shown")
        if mistake is None:
            return result
        return replace(result, misconceptions=(mistake.name,), explanations=(mistake.explanation,), help="named")

    def named(self, look: Look) -> tuple[Mistake | None, str]:
        """The first mistake that the weights show, with its evidence."""
        for mistake in self.exercise.misconceptions.values():
            if evidence := mistake.function(look):
                return mistake, evidence
        return None, ""

    def refused(self, sentence: str, mistake: str = "") -> Result:
        """The result of an unacceptable file."""
        name, count = self.exercise.name, len(self.exercise.measures)
        begins = sentence.startswith(self.exercise.file)
        why = Explanation(sentence if begins else f"{self.exercise.file}: {sentence}", REASONS.get(mistake, ""))
        return Result(
            name,
            "not_yet" if mistake else "stopped",
            0.0,
            0,
            count,
            misconceptions=(mistake,) if mistake else (),
            explanations=(why,),
            next_step=f"`{self.exercise.cell}` writes a file that can be read.",
            help="named" if mistake else "explained",
        )

    def absent(self) -> Result:
        """The result where no file was handed in."""
        return Result(self.exercise.name, "not_started", 0.0, 0, len(self.exercise.measures))

    @property
    def next_step(self) -> str:
        return f'section "{self.exercise.section}", or hint("{self.exercise.name}").'


UNNAMED = Explanation("This is not one of the mistakes that we know by name. Here is what was measured.")


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread inside the block, so that sums have the same order on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
