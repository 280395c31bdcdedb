"""The exercise `causal_mask`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.exercises.masks.shared import unchanged
from qkv.model.masks import (
    causal_mask,
)

exercise = Exercise(
    causal_mask,
    section="The causal mask",
    minutes=5,
    difficulty=1,
    why="No word sees the next one: only so can all positions of a sentence be trained at once.",
    hints=[
        "Write the table for n = 3 by hand: three rows, one for each query. Which keys may query 0 see?",
        "Row i belongs to query i, column j to key j. What must hold between i and j?",
        "`torch.arange(n)` as a column, compared with itself as a row, gives the whole table at once.",
    ],
)


@exercise.probe
def of_some(causal_mask: Any) -> Seen:
    """sequences of two lengths"""
    some, others = distinct(3, 12, 2, seed="some")
    return {"mask": causal_mask(some), "mask of another length": causal_mask(others)}


@exercise.probe
def of_one(causal_mask: Any) -> Seen:
    """a single position, and some more"""
    return {f"mask {i}": causal_mask(n) for i, n in enumerate([1, *distinct(2, 9, 3, seed="more")])}


@exercise.probe
def of_hundreds(causal_mask: Any) -> Seen:
    """some hundred positions"""
    return {"mask": causal_mask(whole(257, 400, seed="hundreds"))}


exercise.property(repeats(of_some, of_one))


@exercise.property
def of_none(causal_mask: Any) -> Seen:
    """an empty sequence

    Your mask does not have the shape (0, 0) for n = 0.
    """
    return {"mask": causal_mask(0)}


def visible(n: int) -> Tensor:
    return causal_mask(n)


@exercise.assembled
def causal_in_steps(n: int, *, pattern: Any = visible, polarity: Any = unchanged, result: Any = unchanged) -> Tensor:
    return result(polarity(pattern(n)))


@exercise.instead_of("pattern")
def future_shown(n: int) -> Tensor:
    """Your mask is the other triangle: it hides the past and shows the future.

    A model that sees the token it has to predict has nothing left to learn; its loss goes to 0 and it can generate
    nothing.
    """
    return causal_mask(n).T


@exercise.instead_of("pattern")
def itself_hidden(n: int) -> Tensor:
    """Your mask hides each position from itself.

    Row 0 then allows nothing at all, and the softmax of nothing is NaN. A position may see its own input; what it
    predicts is the next one.
    """
    return torch.ones(n, n).tril(-1).bool()


@exercise.instead_of("pattern")
def next_shown(n: int) -> Tensor:
    """Your mask also shows the next position: it is off by one.

    The next token is just what the model has to predict.
    """
    return torch.ones(n, n).tril(1).bool()


@exercise.instead_of("polarity")
def true_means_hidden(mask: Tensor) -> Tensor:
    """Your mask has True where attention is *not* allowed.

    Both conventions exist, and torch itself uses both. In this course True means "may attend".
    """
    return ~mask


@exercise.instead_of("result")
def numbers_to_add(mask: Tensor) -> Tensor:
    """You return numbers to be added to the scores, 0 and -inf.

    That is one way to apply a mask. Here a mask is bool, so that masks can be combined before they are applied.
    """
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


@exercise.instead_of("result")
def large_numbers_to_add(mask: Tensor) -> Tensor:
    """You return numbers to be added to the scores, 0 and -1e9.

    Beside a score of the same size that hides nothing, and float16 has no such number. Here a mask is bool: it says who
    is hidden, and leaves it to others how.
    """
    return torch.zeros(mask.shape).masked_fill(~mask, -1e9)


@exercise.instead_of("result")
def zeros_and_ones(mask: Tensor) -> Tensor:
    """You return zeros and ones as floating numbers.

    What is asked for is bool: `~mask` and `masked_fill` will not take anything else.
    """
    return mask.float()


@exercise.instead_of("result")
def whole_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as int64.

    What is asked for is bool. `~` means something else for numbers: ~1 is -2, which counts as true.
    """
    return mask.long()


@exercise.instead_of("result")
def bytes_for_bools(mask: Tensor) -> Tensor:
    """You return zeros and ones as uint8.

    Before torch had bool, masks were bytes, and old code still shows it. `~` means something else for them: ~1 is 254,
    which counts as true.
    """
    return mask.byte()


@exercise.instead_of("result")
def one_dimension_too_many(mask: Tensor) -> Tensor:
    """Your mask has a dimension for the batch: (1, n, n).

    It broadcasts as well without it. What is asked for is (n, n).
    """
    return mask[None]


@exercise.instead_of("result")
def two_dimensions_too_many(mask: Tensor) -> Tensor:
    """Your mask has dimensions for batch and heads: (1, 1, n, n).

    It broadcasts as well without them. What is asked for is (n, n).
    """
    return mask[None, None]


@exercise.instead_of("pattern")
def counted_from_the_last_key(n: int) -> Tensor:
    """Your triangle lies along the other diagonal: the first query sees the last key.

    Query i and key i are the same place. Row i should be True from column 0 up to column i.
    """
    return causal_mask(n).flip(1)


@exercise.instead_of("pattern")
def nothing_hidden(n: int) -> Tensor:
    """Your mask allows everything.

    Then every position sees the tokens that it should predict.
    """
    return torch.ones(n, n).bool()


squeezes(exercise)
