"""An exercise: a reference, probes that look at an implementation, and named mistakes that can be run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

from proctor.examining.result import Explanation
from proctor.forbid import Family
from proctor.inside.observe import Observation
from proctor.inside.properties import how_it_raised

Implementation = Callable[..., Any]
ProbeFunction = Callable[[Any], Mapping[str, Any]]
Explain = Callable[[Observation, Observation], str]
HOLDS_IF_RAISED = re.compile(r"is not understood|raises an error|your code fails")
Kind = Literal["value", "property", "remark"]
P = TypeVar("P", bound=ProbeFunction)
F = TypeVar("F", bound=Implementation)


@dataclass(frozen=True)
class Probe:
    """One situation in which an implementation is observed.

    A value probe earns marks; a property probe (inputs unchanged, another dtype, another device) can only cost them; a
    remark costs nothing: its text is shown with a pass.
    """

    name: str
    function: ProbeFunction
    kind: Kind
    situation: str  # completes "Seen on …"
    fault: str = ""  # what to say if this is the first probe that does not agree
    explain: Explain | None = None  # the same where it depends on what was seen
    portability: bool = False  # a property of where the code runs, not of what it computes

    def why(self, seen: Observation, expected: Observation) -> str:
        """The explanation for an answer that fails this probe; empty if the evidence says it all. What a fault says of
        a result does not hold where the answer raised."""
        if self.explain is not None:
            return self.explain(seen, expected)
        if self.fault and seen.raised is not None and seen.raised.where and not HOLDS_IF_RAISED.search(self.fault):
            return how_it_raised(seen, f"on {self.situation}")
        return self.fault


class Named(Protocol):
    """A mistake that has a name, however it is recognised."""

    @property
    def name(self) -> str: ...

    @property
    def explanation(self) -> Explanation: ...


@dataclass(frozen=True)
class Misconception:
    """A classic mistake as a runnable wrong implementation."""

    name: str
    implementation: Implementation  # a wrong stand-in for the reference
    explanation: Explanation
    replaces: frozenset[str] = frozenset()  # steps or methods; two mistakes in different ones can be made together
    steps: tuple[tuple[str, Implementation], ...] = ()  # replaced steps of the assembled reference, by name


class Question:
    """The part that all exercises share, answered by code (`Exercise`) or by weights (`WeightsExercise`).

    Args:
        section: heading in the book that a student is sent to.
        hints: gentlest first.
        points: what full agreement is worth.
        minutes: that it takes somebody who meets it for the first time, about.
        difficulty: 1 (a few lines that the text all but gives), 2 (one thing to find out), 3 (several at once).
        why: what a student has won who passes it, in a sentence.
    """

    misconceptions: Mapping[str, Named]

    def __init__(
        self,
        name: str,
        section: str,
        hints: Sequence[str],
        points: float,
        minutes: int | None,
        difficulty: int | None,
        why: str,
    ) -> None:
        self.name = name
        self.section = section
        self.hints = tuple(hints)
        self.points = points
        self.minutes = minutes
        self.difficulty = difficulty
        self.why = why

    @property
    def effort(self) -> str:
        """`about 15 minutes, ●●○`; what is not stated is left out."""
        minutes = [f"about {self.minutes} minutes"] if self.minutes else []
        stars = ["●" * self.difficulty + "○" * (3 - self.difficulty)] if self.difficulty else []
        return ", ".join(minutes + stars)

    def counted(self) -> Mapping[str, Any]:
        """The probes or measures that decide the verdict, by name."""
        raise NotImplementedError

    def functions(self) -> list[Callable[..., Any]]:
        """The functions that judge an answer. If one of them changes, verdicts may change."""
        raise NotImplementedError

    def card(self) -> tuple[str, ...]:
        """All parts of the exercise that the card of a passed answer can show."""
        return (self.name, str(len(self.counted())), self.why)


class Exercise(Question):
    """An exercise that is answered by code: reference, probes, named mistakes.

    Args:
        reference: the right implementation; the exercise has its name.
        forbid: what may not be called here.
        equivalents: mutants of the reference that compute the same thing, as lint words them -> why they do.
    """

    def __init__(
        self,
        reference: Implementation,
        *,
        section: str,
        hints: Sequence[str],
        forbid: Iterable[Family] = (),
        points: float = 1.0,
        minutes: int | None = None,
        difficulty: int | None = None,
        why: str = "",
        equivalents: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reference.__name__, section, hints, points, minutes, difficulty, why)
        self.reference = reference
        self.forbid = tuple(forbid)
        self.equivalents = dict(equivalents or {})
        self.probes: dict[str, Probe] = {}
        self.misconceptions: dict[str, Misconception] = {}
        self.in_steps: Implementation | None = None

    def __repr__(self) -> str:
        return f"Exercise({self.name}, {len(self.probes)} probes, {len(self.misconceptions)} misconceptions)"

    def probe(self, function: P) -> P:
        """Add a value probe; its docstring says in which situation it looks."""
        self._add(function, "value")
        return function

    def property(self, function: P) -> P:
        """Add a property probe. A second paragraph of its docstring is what a student reads who fails it alone."""
        self._add(function, "property")
        return function

    def remark(self, function: P) -> P:
        """Add a probe that costs nothing. The second paragraph of its docstring is shown to an answer that passes."""
        self._add(function, "remark")
        return function

    def _add(self, function: ProbeFunction, kind: Kind) -> None:
        name = function.__name__
        if name in self.probes:
            raise ValueError(f"{self.name} already has a probe {name}; give the new one another name")
        situation, fault = paragraphs(function)
        portable = getattr(function, "portability", False)
        self.probes[name] = Probe(name, function, kind, situation, fault, getattr(function, "explain", None), portable)

    def counted(self) -> dict[str, Probe]:
        """The probes that decide."""
        return {name: probe for name, probe in self.probes.items() if probe.kind != "remark"}

    def functions(self) -> list[Callable[..., Any]]:
        return [probe.function for probe in self.probes.values()]

    def card(self) -> tuple[str, ...]:
        return (*super().card(), *(probe.fault for probe in self.probes.values() if probe.kind == "remark"))

    def misconception(self, wrong: F) -> F:
        """Add a wrong stand-in for the reference. Docstring: the sentence for the student, then the reason.

        A class derives from the reference and overrides what is mistaken; two that override different methods can
        be diagnosed together.
        """
        replaces: frozenset[str] = frozenset()
        if inspect.isclass(wrong):
            replaces = frozenset(
                n for n, v in vars(wrong).items() if callable(v) or isinstance(v, property | staticmethod)
            )
        self._mistake(wrong.__name__, wrong, wrong, replaces)
        return wrong

    def assembled(self, in_steps: F) -> F:
        """Give the reference once more with its steps as keyword-only arguments, so that single steps can be wrong."""
        self.in_steps = in_steps
        return in_steps

    def instead_of(self, step: str) -> Callable[[F], F]:
        """Add a misconception that replaces one step of the assembled reference."""

        def add(wrong: F) -> F:
            if self.in_steps is None:
                raise ValueError(f"{self.name}: `assembled` comes before `instead_of`")
            implementation = partial(self.in_steps, **{step: wrong})
            self._mistake(wrong.__name__, wrong, implementation, frozenset([step]), ((step, wrong),))
            return wrong

        return add

    def _mistake(
        self,
        name: str,
        documented: Implementation,
        implementation: Implementation,
        replaces: frozenset[str],
        steps: tuple[tuple[str, Implementation], ...] = (),
    ) -> None:
        if name in self.misconceptions:
            raise ValueError(f"{self.name} already has a misconception {name}; give the new one another name")
        sentence, reason = paragraphs(documented)
        self.misconceptions[name] = Misconception(name, implementation, Explanation(sentence, reason), replaces, steps)

    def both(self, a: Misconception, b: Misconception) -> Implementation | None:
        """The implementation that makes two mistakes at once, or None if they are not separate steps."""
        if not a.replaces or not b.replaces or a.replaces & b.replaces:
            return None
        if inspect.isclass(a.implementation) and inspect.isclass(b.implementation):
            return type(self.name, (a.implementation, b.implementation), {})
        if self.in_steps is not None and a.steps and b.steps:
            return partial(self.in_steps, **dict(a.steps + b.steps))
        return None


def paragraphs(documented: Any) -> tuple[str, str]:
    """The first paragraph of a docstring, and the rest, each as flowing text."""
    first, _, rest = (inspect.getdoc(documented) or "").partition("\n\n")
    if not first:
        raise ValueError(f"{documented.__name__} needs a docstring: it is what the student reads")
    return " ".join(first.split()), "\n".join(" ".join(p.split()) for p in rest.split("\n\n")).strip()
