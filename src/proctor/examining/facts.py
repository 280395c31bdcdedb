"""Facts about a result that differs from the expected one: computed, never guesses at the mistake.

Each sentence is true of the very tensors that were compared, within the tolerance that decides whether they agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np

from proctor.examining.compare import Array, ComparableObservation, ComparableTensor

MOST = 2  # facts on one card: more would hide the one that helps
MOST_RESULTS = 4  # that are told apart by which are right
MOST_SLICES = 64  # that are compared with each other
MOST_POSITIONS = 8  # that are listed
GRADIENT_OF = "gradient of "


class Decisive(str):
    """A fact that says what is wrong with a result, and not only how far it is off."""


class Constant(Decisive):
    """The fact that a result carries no information: to be like a mistake somewhere says nothing then."""


def facts(
    expected: Mapping[str, ComparableObservation], seen: Mapping[str, ComparableObservation], probe: str
) -> tuple[str, ...]:
    """Facts about what one probe saw, and about the parameters that a module lacks."""
    found = [*missing_parameters(expected, seen)]
    wanted, got = expected[probe].values, seen[probe].values
    if wanted and got:
        lacking = [name for name in wanted if name not in got]
        if lacking and len(lacking) < len(wanted):
            found.append(Decisive(f"{' and '.join(lacking[:3])} {'is' if len(lacking) == 1 else 'are'} missing."))
        found += rows_for_values(wanted, got)
        found += exchanged(wanted, got)
        different = (n for n, value in wanted.items() if n in got and value.excess(got[n]) > 1.0)
        first = next(different, None)
        if first is not None and not found:
            found += about(set_apart(first), wanted[first], got[first])
    return tuple(found[:MOST])


def set_apart(label: str) -> str:
    """A label that can stand in a sentence: one with a comma in it would not end where it ends."""
    return f"“{label}”" if "," in label else label


def right_parts(wanted: ComparableObservation, got: ComparableObservation) -> str:
    """Which of several results are right, and which are not; empty where that says nothing."""
    if not wanted.values or not got.values or wanted.values.keys() != got.values.keys():
        return ""
    names = [name for name, value in wanted.values.items() if " " not in name and value.array.dtype != bool]
    wrong = [name for name in names if wanted.values[name].excess(got.values[name]) > 1.0]
    right = [name for name in names if name not in wrong]
    if not right or not wrong or len(names) < len(wanted.values) or len(names) > MOST_RESULTS:
        return ""
    are = ["is" if len(some) == 1 else "are" for some in (right, wrong)]
    return f"{listed(right)} {are[0]} right; {listed(wrong)} {are[1]} not."


def listed(names: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def missing_parameters(
    expected: Mapping[str, ComparableObservation], seen: Mapping[str, ComparableObservation]
) -> Iterator[str]:
    """Parameters that the reference has gradients for, and the answer has not got at all."""
    wanted, got = expected.get("gradients"), seen.get("gradients")
    if wanted is None or got is None or not wanted.values or not got.values:
        return
    lacking = [n.removeprefix(GRADIENT_OF) for n in wanted.values if n not in got.values]
    if lacking:
        yield f"{' and '.join(f'`{name}`' for name in lacking[:3])} {'is' if len(lacking) == 1 else 'are'} missing."


def rows_for_values(wanted: Mapping[str, ComparableTensor], got: Mapping[str, ComparableTensor]) -> Iterator[str]:
    """The fact that one tensor was unpacked into its rows where several values are expected."""
    count = len(wanted)
    shapes = [tuple(value.tensor.shape) for value in wanted.values()]
    rows = [tuple(value.tensor.shape) for value in got.values()]
    if count > 1 and len(got) == count and all(s == (count, *row) for s, row in zip(shapes, rows, strict=True)):
        yield Decisive(
            f"{count} values are asked for, and each of yours has the shape of a row of one of them: a single tensor "
            "that is returned is unpacked into its rows."
        )


def exchanged(wanted: Mapping[str, ComparableTensor], got: Mapping[str, ComparableTensor]) -> Iterator[str]:
    """The fact that two results are each other's."""
    for one, other in combinations(wanted, 2):
        if one not in got or other not in got or wanted[one].excess(wanted[other]) <= 1.0:
            continue
        if not wanted[one].floating and wanted[one].array.size == 1:
            continue  # of two truths that are both wrong, each is the other's
        if wanted[one].excess(got[other]) <= 1.0 and wanted[other].excess(got[one]) <= 1.0:
            yield Decisive(f"{one} and {other} are right, and exchanged.")
            return


def about(name: str, wanted: ComparableTensor, got: ComparableTensor) -> Iterator[str]:
    """Facts about one tensor that does not agree."""
    mine, theirs = got.array, wanted.array
    if mine.size == 0 or theirs.size == 0:
        return
    if not wanted.floating:
        yield from members(name, mine, theirs)
        yield from dimensions(name, mine, theirs)
        if mine.shape == theirs.shape:
            yield from constant(name, mine, theirs)
        return
    if not got.all_finite and wanted.all_finite:
        bad = int((~np.isfinite(mine)).sum())
        yield f"{bad} of the {mine.size} entries of {name} {'is' if bad == 1 else 'are'} NaN or infinite."
        return
    if not (got.all_finite and wanted.all_finite):
        return
    yield from rearranged(name, wanted, got)
    yield from dimensions(name, mine, theirs)
    if mine.shape != theirs.shape:
        return
    yield from constant(name, mine, theirs)
    yield from scaled(name, wanted, mine, theirs)
    yield from function_of(name, mine, theirs)
    yield from added_up(name, wanted, mine, theirs)
    yield from sums(name, wanted, mine, theirs)
    yield from where(name, wanted, got)


def dimensions(name: str, mine: Array, theirs: Array) -> Iterator[str]:
    """The fact that a result has too many dimensions, or too few, where its numbers are not merely arranged so."""
    if mine.ndim != theirs.ndim and mine.size != theirs.size:
        asked = f"{theirs.ndim or 'none'} {'is' if theirs.ndim < 2 else 'are'} asked for"
        yield Decisive(f"{name} has {mine.ndim or 'no'} dimension{'' if mine.ndim == 1 else 's'}, and {asked}.")


def constant(name: str, mine: Array, theirs: Array) -> Iterator[str]:
    """The fact that a result is one number everywhere where the right one varies."""
    if mine.size > 2 and (mine == mine.flat[0]).all() and not (theirs == theirs.flat[0]).all():
        one = mine.flat[0]
        said = str(bool(one)) if mine.dtype == bool else f"{one:.3g}"
        yield Constant(f"Every entry of {name} is {said}, and they should differ.")


def agrees_with(wanted: ComparableTensor, mine: Array) -> bool:
    """Does an array agree with the expected one?"""
    return mine.shape == wanted.array.shape and bool((np.abs(mine - wanted.array) <= wanted.allowed).all())


def rearranged(name: str, wanted: ComparableTensor, got: ComparableTensor) -> Iterator[str]:
    """The right numbers in other places."""
    mine, shape = got.array, wanted.array.shape
    dims = range(mine.ndim)
    for a, b in combinations(dims, 2):
        if agrees_with(wanted, np.swapaxes(mine, a, b)):
            last = (a, b) == (mine.ndim - 2, mine.ndim - 1)
            which = "" if last and mine.ndim == 2 else f" of dimensions {a} and {b}"
            yield Decisive(f"{name} is right after a transpose{which}.")
            return
    if mine.shape != shape:
        if mine.size == wanted.array.size and agrees_with(wanted, mine.reshape(shape)):
            yield Decisive(f"The numbers of {name} are right, in another shape.")
        return
    for dim in dims:
        if agrees_with(wanted, np.flip(mine, dim)):
            yield Decisive(f"{name} is right when it is read backwards along dimension {dim}.")
            return
        for by in (1, -1):
            if shape[dim] > 2 and agrees_with(wanted, np.roll(mine, by, dim)):
                yield Decisive(f"{name} is right when it is shifted by one along dimension {dim}.")
                return
    for dim in dims:
        if (order := order_of(wanted, mine, dim)) is not None:
            first = next(i for i, place in enumerate(order) if i != place)
            yield Decisive(
                f"{name} has the right slices along dimension {dim}, in another order: yours at {first} is expected at "
                f"{order[first]}."
            )
            return


def order_of(wanted: ComparableTensor, mine: Array, dim: int) -> list[int] | None:
    """Where each slice along a dimension belongs, if they are the expected ones in another order; each has several
    entries, and none is like another, so that it is no accident."""
    yours, ours = (np.moveaxis(array, dim, 0).reshape(mine.shape[dim], -1) for array in (mine, wanted.array))
    if not 2 < len(ours) <= MOST_SLICES or ours.shape[1] < 2:
        return None
    fits = (np.abs(yours[:, None] - ours[None]) <= wanted.allowed).all(axis=-1)
    if not ((fits.sum(axis=0) == 1).all() and (fits.sum(axis=1) == 1).all()):
        return None
    order = [int(place) for place in fits.argmax(axis=1)]
    return order if order != sorted(order) else None


def scaled(name: str, wanted: ComparableTensor, mine: Array, theirs: Array) -> Iterator[str]:
    """The fact that an array is off by one factor, or by one difference, everywhere."""
    if mine.size < 2:
        return
    factor = float((mine * theirs).sum() / max(float((theirs * theirs).sum()), 1e-300))
    if factor and accounts_for_error(wanted, mine, mine / factor):
        if abs(factor + 1) < 1e-3:
            yield Decisive(f"Every entry of {name} has the wrong sign.")
        else:
            digits = 3 if abs(factor - 1) > 0.01 else 5  # "the same factor, 1" would say nothing
            yield Decisive(f"Every entry of {name} is off by the same factor, {factor:.{digits}g}.")
        return
    shift = float((mine - theirs).mean())
    if accounts_for_error(wanted, mine, mine - shift):
        yield Decisive(
            f"Every entry of {name} is too {'large' if shift > 0 else 'small'} by the same {abs(shift):.3g}."
        )


FUNCTIONS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("1 minus", lambda x: 1 - x),
    ("1 divided by", lambda x: 1 / x),
    ("the exponential of", np.exp),
    ("the logarithm of", np.log),
    ("the square of", np.square),
    ("the root of", np.sqrt),
    ("the tanh of", np.tanh),
)


def function_of(name: str, mine: Array, theirs: Array) -> Iterator[str]:
    """The fact that a result is a simple function of the right one, which is told apart by entries that vary."""
    if theirs.size == 0 or (np.ptp(theirs) == 0 if theirs.size > 1 else abs(float(theirs.flat[0])) in (0.0, 1.0)):
        return
    with np.errstate(all="ignore"):
        for words, function in FUNCTIONS:
            value = function(theirs)
            if not np.isfinite(value).all() or np.abs(value - theirs).max() <= 1e-2 * np.abs(theirs).max():
                continue
            if np.abs(mine - value).max() <= 1e-5 * np.abs(value).max():
                yield Decisive(f"{name} is {words} the right one.")
                return


def added_up(name: str, wanted: ComparableTensor, mine: Array, theirs: Array) -> Iterator[str]:
    """The fact that a result falls where the right one rises: both add up to one number everywhere, not 0 and not 1,
    which have sentences of their own."""
    total = float((mine + theirs).mean())
    if mine.size < 3 or np.ptp(theirs) == 0 or abs(total) < 1e-3 * np.abs(theirs).max() or abs(total - 1) < 1e-3:
        return
    if accounts_for_error(wanted, mine, total - mine):
        yield Decisive(f"Here your {name} and the right one add up to the same number everywhere, {total:.3g}.")


def members(name: str, mine: Array, theirs: Array) -> Iterator[str]:
    """Of a list of numbers, or of rows of them: what is missing, or too much."""
    if mine.ndim not in (1, 2) or mine.ndim != theirs.ndim or mine.shape[1:] != theirs.shape[1:]:
        return
    if mine.shape == theirs.shape:
        return
    ours, yours = (Counter(map(tuple, array.reshape(len(array), -1).tolist())) for array in (theirs, mine))
    lacks, extra = (ours - yours).total(), (yours - ours).total()
    what = "rows" if mine.ndim == 2 else "numbers"
    if mine.ndim == 1 and not (is_part_of(mine, theirs) or is_part_of(theirs, mine)):
        return  # in another order: another list
    if not lacks:
        yield Decisive(f"All {len(theirs)} {what} that are expected in {name} are there, and {extra} that are not.")
    elif not extra and lacks < len(theirs):
        yield Decisive(
            f"{lacks} of the {len(theirs)} {what} that are expected in {name} are missing; the others are there."
        )


def is_part_of(some: Array, every: Array) -> bool:
    """Is one list the other with numbers left out, in its order?"""
    rest = iter(every.tolist())
    return all(number in rest for number in some.tolist())


def accounts_for_error(wanted: ComparableTensor, mine: Array, corrected: Array) -> bool:
    """Does a correction explain the error of an array to the digits that are shown, and not only to within the
    tolerance? Where little is wrong, a factor near 1 would bring anything there."""
    left = np.abs(corrected - wanted.array).max()
    return agrees_with(wanted, corrected) and bool(left <= 0.003 * np.abs(mine - wanted.array).max())


def sums(name: str, wanted: ComparableTensor, mine: Array, theirs: Array) -> Iterator[str]:
    """Weights that should sum to 1, and do not."""
    for dim in reversed(range(mine.ndim)):
        if mine.shape[dim] < 2 or not np.allclose(theirs.sum(dim), 1, atol=1e-3) or (theirs < 0).any():
            continue
        totals = mine.sum(dim)
        off = np.abs(totals - 1)
        if off.max() > 10 * wanted.allowed:
            worst = float(totals.flat[int(off.argmax())])
            rows = "rows" if dim == mine.ndim - 1 else f"numbers along dimension {dim}"
            most = "all" if {f"{total:.4f}" for total in totals.flat} == {f"{worst:.4f}"} else "some"
            yield Decisive(f"Your {rows} should sum to 1, and {most} of them sum to {worst:.4f}.")
        return


def where(name: str, wanted: ComparableTensor, got: ComparableTensor) -> Iterator[str]:
    """The place of the wrong entries, if at least half of the entries are right."""
    wrong = wanted.errors(got) > 1.0
    if not wrong.any() or wrong.mean() > 0.5 or wrong.ndim == 0:
        return
    places = np.argwhere(wrong)
    for dim in range(wrong.ndim):
        positions = sorted(set(places[:, dim].tolist()))
        if len(positions) == 1 and wrong.shape[dim] > 2:
            yield Decisive(f"Only entries at position {positions[0]} of dimension {dim} of {name} are wrong.")
            return
    if common := list(among_right(name, wrong, got.array[wrong], wanted.array[wrong])):
        yield from common
        return
    for dim in range(wrong.ndim):
        positions = sorted(set(places[:, dim].tolist()))
        if 1 < len(positions) <= min(MOST_POSITIONS, wrong.shape[dim] // 2):
            listed = f"{', '.join(map(str, positions[:-1]))} and {positions[-1]}"
            yield Decisive(f"Only entries at positions {listed} of dimension {dim} of {name} are wrong.")
            return
    yield f"{int(wrong.sum())} of the {wrong.size} entries of {name} are wrong; the others are right."


def among_right(name: str, wrong: Array, mine: Array, theirs: Array) -> Iterator[str]:
    """What the wrong entries have in common, where the others are right.

    Args:
        wrong: which are.
        mine, theirs: those.
    """
    if mine.size < 2 or not (np.isfinite(mine).all() and np.isfinite(theirs).all()):
        return
    which = f"{mine.size} of the {wrong.size} entries of {name}"
    if not mine.any():
        yield Decisive(f"{which} are 0 and should not be; the others are right.")
    elif not theirs.any():
        yield Decisive(f"{which} should be 0 and are not; the others are right.")
    elif np.abs(mine + theirs).max() <= 1e-4 * np.abs(theirs).max():
        yield Decisive(f"{which} have the wrong sign; the others are right.")
