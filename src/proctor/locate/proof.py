"""Blame is tested before it is said: an answer runs once more with a right value in the place of one of its own.

If the checks that failed pass then, what comes after this place is right, and the mistake is there or in what goes into
it. Which value of the reference is the right one there is found by trying those that fit. It has to be the value of one
expression of the reference, under every check, on two sets of inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from proctor.examining.compare import Array, ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.locate.repair import Budget, Cells, Seen, agrees
from proctor.locate.trace import (
    Divergence,
    Flow,
    InstrumentedCells,
    KnownValues,
    Spot,
    array_of,
    close,
    counts_of,
    is_constant,
)

MOST_SPOTS = 16  # places that are tried
MOST_FITTING = 24  # right values that are tried in one place
MOST_RUNS = 300  # of one answer
MOST_LINES = 3  # that are named beside the one of a place
CONFIRMED = 4  # of those that set one check right, how many are tried on all

Values = Sequence[Tensor | None]  # what is put in a place, each time that it is evaluated


@dataclass(frozen=True)
class Put:
    """Right values in the place of one expression.

    Args:
        number: of the expression.
        values: check -> what it is each time.
    """

    number: int
    values: Mapping[str, Values]


class ProofBench(Protocol):
    """A runner of an answer with other values in it; see `proctor.marking.line_search.MarkerBench`."""

    def run(
        self, versions: Sequence[Cells], probes: Sequence[str], *, again: bool = False, watched: bool = False
    ) -> list[Seen]: ...

    def run_with(self, cells: Cells, puts: Sequence[Put], probes: Sequence[str], *, again: bool = False) -> list[Seen]:
        """The observations of an answer with each of these in it, by check.

        Args:
            cells: instrumented.
        """
        ...


class RightValues(Protocol):
    """The values of the reference under a check: `proctor.locate.where.ReferenceValues`."""

    def value(self, examiner: Examiner, probe: str) -> KnownValues | None: ...


@dataclass(frozen=True)
class Proof:
    """A place whose right value sets failing checks right.

    Args:
        mends: how many of the checks of values that fail pass with it, on both sets of inputs; 0 if it is the last
            step of all, where a right value is the right result and proves nothing.
        tried: in how many of them it could be tried.
        fails: how many fail.
        known: right solutions have all that goes into it, and something of that was computed.
        entries: how many of the wrong entries of the first check become right, and no right one wrong, where no check
            passes; and how many are wrong.
        complete: the value there is the right result already, and something more is done with it.
        before: the other lines of its cell whose values go into it and are in no right solution; empty where the cell
            is not the only one, or where they are more than one would look at.
    """

    spot: Spot
    mends: int
    tried: int
    fails: int
    known: bool
    entries: tuple[int, int] = (0, 0)
    complete: bool = False
    before: tuple[int, ...] = ()


def proof(
    examiner: Examiner,
    divergence: Divergence,
    watched: InstrumentedCells,
    seen: Seen,
    failing: Sequence[str],
    bench: ProofBench,
    budget: Budget,
    right: RightValues,
) -> Proof | None:
    """The first place, in the order in which the answer computes, whose right value sets the checks that fail right:
    all of them, or as many as possible, and the first.

    Args:
        divergence: under the first check that fails.
        seen: what the checks saw of the answer as it is.
        failing: the checks of values that the answer fails, the one of the divergence first.
    """
    flow = divergence.flow
    assert flow is not None
    first, runs = failing[0], 0
    best: Proof | None = None
    part: Proof | None = None
    for at in places(flow, divergence.at):
        number = flow.order[at].number
        fitting = list(islice(fitting_values(flow, at), min(MOST_FITTING, MOST_RUNS - runs)))
        if not fitting or not budget.time_left:
            continue
        runs += len(fitting)
        puts = [Put(number, {first: values}) for _, values in fitting]
        outcomes = bench.run_with(watched.cells, puts, [first])
        for (way, values), outcome in zip(fitting, outcomes, strict=True):
            if is_result(flow, values):
                continue
            if not agrees(examiner, outcome, [first]):
                better, wrong = righted(examiner, seen, outcome, first)
                if better > (part.entries[0] if part is not None else 0) and 5 * better >= wrong:
                    again = righted_again(examiner, way, number, watched, first, bench, right)
                    if again:
                        known, before = flow.comes_from_known(at), lines_before(flow, at)
                        part = Proof(flow.spots[at], 0, 0, len(failing), known, (better, wrong), before=before)
                continue
            mends, tried = confirmed(examiner, way, number, watched, failing, bench, right)
            if mends and (best is None or mends > best.mends):
                known, before = flow.comes_from_known(at), lines_before(flow, at)
                best = Proof(flow.spots[at], mends, tried, len(failing), known, before=before)
            if mends == len(failing):
                return best
    return best or complete_before(flow, failing) or part or at_the_result(flow, failing)


def lines_before(flow: Flow, at: int) -> tuple[int, ...]:
    """The other lines whose unknown values go into a place, if they are few and of its own cell."""
    there = flow.spots[at]
    suspects = [flow.spots[i] for i in flow.comes_from(at) if not flow.is_known(i)]
    if any(spot.label != there.label for spot in suspects):
        return ()
    lines = sorted({spot.line for spot in suspects} - {there.line})
    return tuple(lines) if len(lines) <= MOST_LINES else ()


def righted(examiner: Examiner, before: Seen, after: Seen, probe: str) -> tuple[int, int]:
    """How many entries that were wrong under a check are right now, 0 if one that was right is wrong now; and how many
    were wrong."""
    expected = examiner.expected[probe].values or {}
    old, new = (ComparableObservation(s[probe]).values if probe in s else None for s in (before, after))
    if not old or not new or old.keys() != expected.keys() or new.keys() != expected.keys():
        return 0, 0
    better = wrong = 0
    for name, value in expected.items():
        if not (value.comparable(old[name]) and value.comparable(new[name])):
            return 0, 0
        was, now = value.errors(old[name]) > 1.0, value.errors(new[name]) > 1.0
        if (now & ~was).any():
            return 0, 0
        better, wrong = better + int((was & ~now).sum()), wrong + int(was.sum())
    return better, wrong


def righted_again(
    examiner: Examiner,
    way: Way,
    number: int,
    watched: InstrumentedCells,
    probe: str,
    bench: ProofBench,
    right: RightValues,
) -> bool:
    """Do entries become right on the second set of inputs, too?"""
    judge = examiner.other_inputs
    (noted,) = bench.run([watched.cells], [probe], again=True, watched=True)
    known = right.value(judge, probe)
    count = counts_of(noted[probe].values).get(number, 0) if probe in noted else 0
    if known is None or (values := way.values(known, count)) is None:
        return False
    before, after = bench.run_with(watched.cells, [Put(number, {}), Put(number, {probe: values})], [probe], again=True)
    return righted(judge, before, after, probe)[0] > 0


def complete_before(flow: Flow, failing: Sequence[str]) -> Proof | None:
    """The proof that a value on the way was the right result already, where one alone is returned."""
    if len({flow.order[i].number for i in flow.own}) != 1:
        return None  # of several, one may be right before the others
    for result in flow.own:
        if flow.is_known(result):
            continue
        for i in flow.comes_from(result):
            value = np.squeeze(flow.value(i))
            if not flow.is_given(i) and not is_constant(value) and is_result_of(flow.right.own_results, value):
                return Proof(flow.spots[i], 0, 0, len(failing), known=True, complete=True)
    return None


def is_result_of(results: Sequence[Array], value: Array) -> bool:
    return any(value.shape == result.shape and close(value, result) for result in results)


def at_the_result(flow: Flow, failing: Sequence[str]) -> Proof | None:
    """The proof that the last step is wrong: all that goes into it is right, and its result is not."""
    wrong = [i for i in flow.own if not flow.is_known(i)]
    if len({flow.order[i].number for i in wrong}) != 1:
        return None
    i = wrong[0]
    while flow.spots[i].kind == "Name" and len(before := flow.inputs(i)) == 1:
        i = before[0]
    if flow.spots[i].kind in ("Assign", "AugAssign"):
        return None  # a part of it is written here; another may be missing
    return Proof(flow.spots[i], 0, 0, len(failing), known=True) if flow.comes_from_known(i) else None


def is_result(flow: Flow, values: Values) -> bool:
    """Is this what a right solution returns itself? That an answer passes with it in the end says nothing."""
    arrays = [np.squeeze(array_of(value)) for value in values if value is not None]
    return any(is_result_of(flow.right.own_results, array) for array in arrays)


def confirmed(
    examiner: Examiner,
    way: Way,
    number: int,
    watched: InstrumentedCells,
    failing: Sequence[str],
    bench: ProofBench,
    right: RightValues,
) -> tuple[int, int]:
    """How many of the checks that fail pass with the right value, on both sets of inputs, 0 if the first does not; and
    in how many it could be tried."""
    mended, tried = set(failing), set(failing)
    for judge, again in ((examiner, False), (examiner.other_inputs, True)):
        (noted,) = bench.run([watched.cells], failing, again=again, watched=True)
        values = {}
        for probe in failing:
            known = right.value(judge, probe)
            count = counts_of(noted[probe].values).get(number, 0) if probe in noted else 0
            if known is not None and (found := way.values(known, count)) is not None:
                values[probe] = found
        (outcome,) = bench.run_with(watched.cells, [Put(number, values)], list(values), again=again)
        tried &= values.keys()
        mended &= {probe for probe in values if agrees(judge, outcome, [probe])}
    return len(mended) if failing[0] in mended else 0, len(tried)


def places(flow: Flow, first: int) -> list[int]:
    """The values that may be to blame, each expression once: the first divergence, then what comes of it, then what is
    another way."""
    unknown = flow.unknown()
    ordered = [first, *(i for i in unknown if i > first), *(i for i in unknown if i < first)]
    own = {flow.order[i].number for i in flow.own}
    found: dict[int, int] = {}
    for i in ordered:
        number = flow.order[i].number
        if number not in own:
            found.setdefault(number, i)
    return list(found.values())[:MOST_SPOTS]


# ---- which values of the reference fit


@dataclass(frozen=True)
class Way:
    """How the values of one expression of the reference become those of one of the answer's.

    Args:
        place: number of the reference's expression.
        axis: None if both are evaluated equally often; otherwise the reference computes at once, along this dimension,
            what the answer computes one after the other.
        inner: or what the answer computes one after the other are all parts with so many dimensions: all rows, say.
        joined: the other way round: the reference computes one after the other along this dimension.
        last: the answer's is complete only after the last of its evaluations.
    """

    place: int
    axis: int | None = None
    inner: int | None = None
    joined: int | None = None
    last: bool = False

    def values(self, known: KnownValues, count: int) -> Values | None:
        """What stands in the place each time, if that is evaluated so often; None if it does not fit."""
        found = known.series.get(self.place, [])
        if not found or not count:
            return None
        if self.last:
            each, left = divmod(count, len(found))
            return None if left else [v for value in found for v in (*[None] * (each - 1), value)]
        if self.axis is not None:
            if any(value.dim() <= self.axis for value in found):
                return None
            parts = [part for value in found for part in value.unbind(self.axis)]
            return parts if len(parts) == count else None
        if self.inner is not None:
            if any(value.dim() <= self.inner for value in found):
                return None
            parts = [part for value in found for part in value.flatten(0, value.dim() - self.inner - 1)]
            return parts if len(parts) == count else None
        if self.joined is not None:
            each, left = divmod(len(found), count)
            if left or each < 2 or len({value.shape for value in found}) > 1 or found[0].dim() < self.joined:
                return None
            return [torch.stack(found[i : i + each], self.joined) for i in range(0, len(found), each)]
        return found if len(found) == count else None


def fitting_values(flow: Flow, at: int) -> Iterator[tuple[Way, Values]]:
    """The reference's values that could stand in a place, those of the same shape first, each once."""
    mine, changes = np.squeeze(flow.value(at)), flow.spots[at].changes
    count = flow.counts.get(flow.order[at].number, 0)
    found: list[tuple[float, Way, Values]] = []
    seen: set[bytes] = set()
    for place in flow.right.series:
        ways = [Way(place, last=True)] if changes and count > 1 else [Way(place)]
        if count > 1:
            ways += [*(Way(place, inner=inner) for inner in range(3)), *(Way(place, axis=axis) for axis in range(3))]
        ways += [Way(place, joined=axis) for axis in (0, 1)]
        for way in ways:
            values = way.values(flow.right, count)
            given = next((v for v in values or () if v is not None), None)
            if values is None or given is None or is_unfitting(given, mine):
                continue
            key = (
                b"".join(v.double().numpy().tobytes() for v in values[:64] if v is not None)
                + str(tuple(given.shape)).encode()
            )
            if key not in seen:
                seen.add(key)
                found.append((unlikeness(given, mine), way, values))
    found.sort(key=lambda item: item[0])
    return ((way, values) for _, way, values in found)


def is_unfitting(value: Tensor, mine: Array) -> bool:
    """Is this what stands there anyway, or something of quite another kind?"""
    other = np.squeeze(array_of(value))
    if value.dtype == torch.bool and not np.isin(mine, (0.0, 1.0)).all():
        return True  # a truth in the place of a number
    if other.shape == mine.shape:
        return close(mine, other)
    return other.ndim == 0 or mine.ndim == 0


def unlikeness(value: Tensor, mine: Array) -> float:
    """How little a value is like another: those in which most entries are equal come first, then those of the same
    shape that vary alike."""
    other = np.squeeze(array_of(value))
    if other.shape != mine.shape:
        return 2.0 + (sorted(other.shape) != sorted(mine.shape)) + (other.ndim != mine.ndim)
    both = np.isfinite(other) & np.isfinite(mine)
    a, b = other[both], mine[both]
    equal = float(np.isclose(a, b).sum()) / max(mine.size, 1)
    if a.size < 2 or not a.std() or not b.std():
        return 1.0 - equal
    return 1.0 - max(equal, abs(float(np.corrcoef(a, b)[0, 1])) - 0.01)
