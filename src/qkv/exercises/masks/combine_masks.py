"""The exercise `combine_masks`."""

from __future__ import annotations

import operator
from functools import reduce
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import booleans, whole
from proctor.inside.properties import FLOATING, usual
from proctor.inside.situations import Seen
from qkv.model.masks import (
    combine_masks,
)

exercise = Exercise(
    combine_masks,
    section="Combining masks",
    minutes=10,
    difficulty=2,
    why="What may be seen is what every mask allows; broadcasting does the rest.",
    hints=[
        "A key is visible only if no mask hides it. Which logical operation is that?",
        "(batch, 1, key) and (query, key) broadcast to (batch, query, key) by themselves.",
        "What should come out if every argument is None, or if there is none?",
    ],
)


@exercise.probe
def causal_and_padding(combine_masks: Any) -> Seen:
    """a causal mask (n, n) and a padding mask (3, 1, n)"""
    n = whole(5, 9, seed="n")
    return {"mask": combine_masks(torch.ones(n, n).tril().bool(), booleans(3, 1, n, seed="padding", p=0.6))}


@exercise.probe
def a_single_mask(combine_masks: Any) -> Seen:
    """one mask alone"""
    return {"mask": combine_masks(booleans(5, 7, seed="alone"))}


@exercise.probe
def four_masks(combine_masks: Any) -> Seen:
    """four masks of one shape"""
    return {"mask": combine_masks(*(booleans(6, 7, seed=i, p=0.8) for i in range(4)))}


@exercise.probe
def none_in_any_place(combine_masks: Any) -> Seen:
    """two masks, and None before, between and after them"""
    calls = {
        "first": (None, "a", "b"),
        "between": ("a", None, "b"),
        "last": ("b", "a", None),
        "everywhere": (None, "b", None, None, "a", None),
        "before one mask": (None, "a"),
        "after one mask": ("b", None),
    }
    shapes = {"a": (4, 6), "b": (3, 1, 6)}
    return {
        f"mask with None {place}": combine_masks(*(m and booleans(*shapes[m], seed=m, p=0.6) for m in masks))
        for place, masks in calls.items()
    }


@exercise.probe
def masks_that_broadcast(combine_masks: Any) -> Seen:
    """masks of different shapes, with sizes of 1 in every dimension"""
    row, column, batch, full, one = (7,), (5, 1), (3, 1, 1), (3, 5, 7), (1, 1)
    calls = [(row, column), (batch, column), (column, row, batch), (full, row), (batch, full), (one, full), (one, one)]
    return {
        f"mask from {' and '.join(map(str, shapes))}": combine_masks(
            *(booleans(*shape, seed=f"{i} {j}", p=0.7) for j, shape in enumerate(shapes))
        )
        for i, shapes in enumerate(calls)
    }


@exercise.probe
def all_or_nothing_allowed(combine_masks: Any) -> Seen:
    """masks that allow everything, or nothing, beside an ordinary one"""
    return {
        "mask beside everything": combine_masks(torch.ones(4, 6).bool(), booleans(4, 6, seed="ordinary")),
        "mask beside nothing": combine_masks(booleans(4, 6, seed="other"), torch.zeros(4, 6).bool()),
        "mask of everything": combine_masks(torch.ones(3, 1, 6).bool(), torch.ones(4, 6).bool()),
    }


@exercise.probe
def nothing_to_combine(combine_masks: Any) -> Seen:
    """None alone, two times None, and no argument at all; then two masks"""
    return {
        "the mask of None is None": combine_masks(None) is None,
        "the mask of two None is None": combine_masks(None, None) is None,
        "the mask of nothing is None": combine_masks() is None,
        "mask": combine_masks(booleans(4, 6, seed="one"), booleans(4, 6, seed="two")),
    }


def masks_of_two_shapes() -> tuple[Tensor | None, ...]:
    return booleans(4, 5, seed="a"), None, booleans(2, 1, 5, seed="b")


def masks_of_one_shape() -> tuple[Tensor | None, ...]:
    return booleans(4, 5, seed="a"), None, booleans(4, 5, seed="b"), booleans(4, 5, seed="c")


usual(exercise, masks_of_two_shapes, alike=masks_of_one_shape, without=FLOATING)


@exercise.misconception
def any_allows(*masks: Tensor | None) -> Tensor | None:
    """You allow what any of the masks allows.

    Then the causal mask lets padding through, and the padding mask the future. Each mask must be able to forbid.
    """
    found = [m for m in masks if m is not None]
    return reduce(operator.or_, found) if found else None


@exercise.misconception
def none_hides_everything(*masks: Tensor | None) -> Tensor | None:
    """You return None as soon as one mask is None.

    None means "no restriction from this one"; the others still restrict.
    """
    return None if any(m is None for m in masks) else combine_masks(*masks)


@exercise.misconception
def only_the_first_two(*masks: Tensor | None) -> Tensor | None:
    """You combine the first two masks only.

    A decoder with a window has three: causal, padding, window.
    """
    return combine_masks(*[m for m in masks if m is not None][:2])


@exercise.misconception
def only_the_first_two_arguments(*masks: Tensor | None) -> Tensor | None:
    """You look at the first two arguments only.

    There may be any number of masks, and None among them: what comes third may forbid something too.
    """
    return combine_masks(*masks[:2])


@exercise.misconception
def none_ends_the_list(*masks: Tensor | None) -> Tensor | None:
    """You stop at the first None; masks after it have no say.

    None means "no restriction from this one"; those that follow still restrict.
    """
    return combine_masks(*takewhile(lambda mask: mask is not None, masks))


@exercise.misconception
def none_not_skipped(*masks: Tensor | None) -> Tensor | None:
    """Your code fails where one of the masks is None: None is combined like a mask.

    None means "no restriction from this one". Leave it out before you combine the others.
    """
    return reduce(operator.and_, masks) if masks else None


@exercise.misconception
def one_shape_only(*masks: Tensor | None) -> Tensor | None:
    """Your masks must all have one shape: you stack them.

    A causal mask is (query, key), a padding mask (batch, 1, key). Let them broadcast: `&` does it by itself, stacking
    does not.
    """
    found = [m for m in masks if m is not None]
    return torch.stack(found).all(dim=0) if found else None


@exercise.misconception
def everything_where_nothing_is_left(*masks: Tensor | None) -> Tensor | None:
    """Where there is nothing to combine you return a mask that allows everything.

    It restricts nothing, which is what None says too. But None is asked for: who gets it need not look at any mask.
    """
    found = combine_masks(*masks)
    return torch.tensor(True) if found is None else found


@exercise.misconception
def the_first_one(*masks: Tensor | None) -> Tensor | None:
    """Only your first mask counts.

    Each mask may forbid something; they should all have a say.
    """
    return next((m for m in masks if m is not None), None)


@exercise.misconception
def added_up(*masks: Tensor | None) -> Tensor | None:
    """You add the masks, which makes numbers of them.

    Counts are not a mask: 1 + 0 is still "true". Each entry should be True only where all are.
    """
    found = [m.long() for m in masks if m is not None]
    return sum(found[1:], found[0]) if found else None


@exercise.misconception
def exclusive(*masks: Tensor | None) -> Tensor | None:
    """You keep what exactly one mask allows.

    `^` is "either, not both". What both allow should stay allowed.
    """
    found = [m for m in masks if m is not None]
    return reduce(operator.xor, found) if found else None


@exercise.misconception
def the_last_one(*masks: Tensor | None) -> Tensor | None:
    """Only your last mask counts.

    Each mask overwrites the one before it; they should all have a say.
    """
    found = [m for m in masks if m is not None]
    return found[-1] if found else None


squeezes(exercise)
