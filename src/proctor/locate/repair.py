"""The search by repair: try edits, smallest first, until all probes agree, here and on a second set of inputs.

A candidate meets a probe that the answer fails first; few get further. The runner of candidates returns
observations, and the verdict on them is made here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from time import monotonic
from typing import Protocol

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.inside.observe import Observation
from proctor.locate.edits import edits
from proctor.locate.ingredients import Ingredients
from proctor.locate.source import Edit, EditableDefinition, applied
from proctor.locate.trace import Spot

BATCH = 60  # candidates that are run together at first
MOST_BETTER = 12  # edits of which it is asked whether all values are right with them
MOST_CELLS = 12  # that are edited: the answer, and what it uses
MOST_WRITTEN = 1_000_000  # characters of all edits of an answer: five times what a long honest one has
OF_PORTABILITY = {"device", "dtype"}  # kinds of edits that say where or in which precision code would run
SEEDS = 4  # edits that set some probes right, to which a second one is looked for
Text = str
Cells = Mapping[str, Text]  # label -> text
Seen = Mapping[str, Observation]


class Bench(Protocol):
    """A runner of edited versions. A version that could not be run has no observations."""

    def run(
        self, versions: Sequence[Cells], probes: Sequence[str], *, again: bool = False, watched: bool = False
    ) -> list[Seen]:
        """The observations of each version, by probe.

        Args:
            again: on the second set of inputs.
            watched: observe the values of the versions' expressions instead of their results.
        """
        ...


@dataclass(frozen=True)
class Candidate:
    """One or two edits, and the cell in which each is made."""

    edits: tuple[tuple[str, Edit], ...]  # (label of the cell, edit)

    @property
    def cost(self) -> float:
        return sum(edit.cost for _, edit in self.edits)

    def cells(self, texts: Cells) -> dict[str, Text]:
        """The cells that change, edited."""
        found = {}
        for label in dict.fromkeys(label for label, _ in self.edits):
            found[label] = applied(texts[label], *(edit for other, edit in self.edits if other == label))
        return found


@dataclass
class Budget:
    """The budget of one search, and how much of it is used.

    Args:
        candidates: edits that are tried. This ends a search, so that it ends alike on every machine.
        seconds: of processor time, as the runner reports it (`used`); ends the search where a person waits.
        on_progress: called with the number of edits tried so far.
        ends: when the search is over by the clock (`time.monotonic`), whatever it did.
    """

    candidates: int = 1000
    seconds: float = 20.0
    on_progress: Callable[[int], None] = lambda tried: None
    ends: float = math.inf
    tried: int = 0
    used: float = 0.0

    @property
    def left(self) -> bool:
        return self.tried < self.candidates and self.time_left

    @property
    def time_left(self) -> bool:
        return self.used < self.seconds and monotonic() < self.ends

    def take(self, batch: Sequence[Candidate]) -> Sequence[Candidate]:
        """The part of a batch that the budget still allows."""
        batch = batch[: max(self.candidates - self.tried, 0)]
        self.tried += len(batch)
        self.on_progress(self.tried)
        return batch


def candidates(
    texts: Cells, solutions: Sequence[Text], spot: Spot | None = None, names: Mapping[str, str] | None = None
) -> list[Candidate]:
    """All single edits of these cells, smallest first; those that come out the same count once. Code that is made to
    have countless ones is not searched to its end.

    Args:
        spot: the first divergence: edits there are tried earlier.
        names: variables of the solutions -> those of the student's that have the same value.
    """
    ingredients = Ingredients(solutions, names)
    found: dict[tuple[str, int, int, str], tuple[str, Edit]] = {}
    written = 0
    for label, text in islice(texts.items(), MOST_CELLS):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            definition = EditableDefinition(text)
            for edit in chain(edits(definition), ingredients.edits(definition)):
                written += len(edit.new)
                if written > MOST_WRITTEN:
                    break
                key = label, edit.start, edit.end, edit.new
                if edit.new != definition.words(edit.start, edit.end) and (
                    key not in found or found[key][1].cost > edit.cost
                ):
                    found[key] = label, edit

    def rank(candidate: Candidate) -> float:
        ((label, edit),) = candidate.edits
        here = spot is not None and spot.label == label
        if here and edit.start < spot.end and spot.start < edit.end:  # type: ignore[union-attr]
            return candidate.cost - (0.5 if edit.kind == "missing step" else 1.0)
        return candidate.cost - (0.5 if here and spot.line == edit.line else 0.0)  # type: ignore[union-attr]

    return sorted((Candidate((edit,)) for edit in found.values()), key=rank)


@dataclass
class Repair:
    """The edits that make all probes agree, and the number of candidates tried.

    Args:
        agree: how many probes agree then, if it is not all of them: those of values, and perhaps more.
    """

    candidate: Candidate
    tried: int
    agree: int | None = None


def repair(
    examiner: Examiner,
    seen: Seen,
    texts: Cells,
    solutions: Sequence[Text],
    bench: Bench,
    budget: Budget,
    spot: Spot | None = None,
    names: Mapping[str, str] | None = None,
) -> Repair | None:
    """The smallest edit of an answer's cells with which all probes agree; else one with which all that see values do;
    None if none was found in the budget.

    Args:
        seen: what the probes saw of the answer as it is.
        texts: the cells that may be edited, the answer's own first.
        solutions: texts of right solutions.
        spot: where to begin.
        names: variables of the solutions -> those of the student's that have the same value.
    """
    failing = first_failing(examiner, seen)
    if failing is None:
        return None
    scope = scope_of(examiner, seen)
    singles = candidates(texts, solutions, spot, names)
    if examiner.exercise.probes[failing].portability:  # to leave the tensor out would do as well, and say less
        singles.sort(key=lambda one: one.edits[0][1].kind not in OF_PORTABILITY)
    better: list[tuple[Candidate, str]] = []
    if found := _first(examiner, singles, failing, texts, bench, budget, better, scope):
        return repaired(examiner, found, texts, bench, budget)
    for one, still in better[:SEEDS]:
        ((label, first),) = one.edits
        pairs = [
            Candidate((*one.edits, *other.edits))
            for other in singles
            if other.edits[0][0] != label or not first.overlaps(other.edits[0][1])
        ]
        if found := _first(examiner, pairs, still, texts, bench, budget, [], scope):
            return repaired(examiner, found, texts, bench, budget)
    for one, still in better[:MOST_BETTER]:
        if examiner.exercise.probes[still].kind != "value" and (agree := values_agree(examiner, one, texts, bench)):
            return Repair(one, budget.tried, agree)
    return None


def scope_of(examiner: Examiner, seen: Seen) -> list[str]:
    """The checks that a repair has to set right: where the code would run (on another device, in half precision) hides
    no other mistake, and is asked for only if nothing else is wrong."""
    core = [name for name, probe in examiner.exercise.counted().items() if not probe.portability]
    return list(examiner.exercise.counted()) if agrees(examiner, seen, core) else core


def repaired(examiner: Examiner, found: Candidate, texts: Cells, bench: Bench, budget: Budget) -> Repair | None:
    """The repair, and how many checks pass with it if not all do; None if it is not the same the second time."""
    count, every = values_agree(examiner, found, texts, bench), len(examiner.exercise.counted())
    return None if count is None else Repair(found, budget.tried, None if count == every else count)


def _first(
    examiner: Examiner,
    tried: Sequence[Candidate],
    failing: str,
    texts: Cells,
    bench: Bench,
    budget: Budget,
    better: list[tuple[Candidate, str]],
    scope: Sequence[str],
) -> Candidate | None:
    """The first candidate with which all probes in scope agree. Those that set only `failing` right are added to
    `better`, with a probe that still fails."""
    for batch in batches(tried):
        if not budget.left:
            break
        batch = budget.take(batch)
        for candidate, outcome in zip(batch, bench.run([c.cells(texts) for c in batch], [failing]), strict=True):
            if agrees(examiner, outcome, [failing]):
                still = fails(examiner, candidate, texts, bench, scope)
                if still is None:
                    return candidate
                better.append((candidate, still))
    return None


def batches(found: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    """Small ones first: most repairs are found early."""
    start, count = 0, BATCH
    while start < len(found):
        yield found[start : start + count]
        start += count
        count = min(2 * count, 4 * BATCH)


def first_failing(examiner: Examiner, seen: Seen) -> str | None:
    """A probe that the answer fails; one that sees values before one that sees a property."""
    return next(failing(examiner, seen), None)


def failing(examiner: Examiner, seen: Seen) -> Iterator[str]:
    """The probes that the answer fails; those that see values before those that see a property."""
    for probe in sorted(examiner.exercise.counted().values(), key=lambda p: (p.kind != "value", p.portability)):
        if probe.name not in seen or not examiner.expected[probe.name].same(ComparableObservation(seen[probe.name])):
            yield probe.name


def passing(examiner: Examiner, seen: Seen) -> list[str]:
    """The probes of values that the answer passes, if it passes at least half of them. Where it passes few, they are
    special cases, in which a mistake may not show."""
    values = [name for name, probe in examiner.exercise.counted().items() if probe.kind == "value"]
    passed = [name for name in values if agrees(examiner, seen, [name])]
    return passed if 2 * len(passed) >= len(values) else []


def agrees(examiner: Examiner, seen: Seen, probes: Iterable[str]) -> bool:
    """Do all these probes see what they see of the reference, and nothing that is forbidden?"""
    return all(
        name in seen and not seen[name].called and examiner.expected[name].same(ComparableObservation(seen[name]))
        for name in probes
    )


def values_agree(examiner: Examiner, candidate: Candidate, texts: Cells, bench: Bench) -> int | None:
    """The number of probes that agree with a candidate on both sets of inputs; None if a value probe fails."""
    probes = examiner.exercise.counted()
    agreeing = set(probes)
    for judge, again in ((examiner, False), (examiner.other_inputs, True)):
        (outcome,) = bench.run([candidate.cells(texts)], list(probes), again=again)
        agreeing &= {name for name in probes if agrees(judge, outcome, [name])}
    values = {name for name, probe in probes.items() if probe.kind == "value"}
    return len(agreeing) if values <= agreeing else None


def fails(examiner: Examiner, candidate: Candidate, texts: Cells, bench: Bench, scope: Sequence[str]) -> str | None:
    """A probe in scope that fails with a candidate, on one of two sets of inputs, if possible one that sees values;
    None if all agree on both."""
    probes = sorted(scope, key=lambda name: examiner.exercise.probes[name].kind != "value")
    for judge, again in ((examiner, False), (examiner.other_inputs, True)):
        (outcome,) = bench.run([candidate.cells(texts)], probes, again=again)
        for probe in probes:
            if not agrees(judge, outcome, [probe]):
                return probe
    return None
