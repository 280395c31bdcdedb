"""The exercise `padding_mask`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, whole
from proctor.inside.properties import FLOATING, usual
from proctor.inside.situations import Seen
from qkv.exercises.masks.shared import unchanged
from qkv.model.masks import (
    padding_mask,
)

exercise = Exercise(
    padding_mask,
    section="The padding mask",
    minutes=5,
    difficulty=1,
    why="Sentences of different lengths share a batch, and the filling must not be heard.",
    hints=[
        "A sequence of length 3 in a batch of width 5: which of the positions 0 … 4 are real?",
        "Compare the positions (length,) with the lengths (batch,). Which one needs another dimension, and where?",
        "The result is (batch, 1, length): the 1 stands for the queries, since every query sees the same keys.",
    ],
)


@exercise.probe
def several_lengths(padding_mask: Any) -> Seen:
    """four sequences in a batch wider than the longest"""
    return {"mask": padding_mask(torch.tensor(distinct(1, 7, 4, seed="lengths")), whole(7, 11, seed="width"))}


@exercise.probe
def empty_and_full(padding_mask: Any) -> Seen:
    """an empty and a full sequence beside another one, in batches of two widths"""
    some, others = distinct(3, 12, 2, seed="widths")
    return {
        "mask": padding_mask(torch.tensor([0, some, whole(1, some, seed="one")]), some),
        "mask of another width": padding_mask(torch.tensor([whole(1, others, seed="other"), others, 0]), others),
    }


@exercise.probe
def sizes_of_one_in_a_batch(padding_mask: Any) -> Seen:
    """a single sequence, and sequences of a single position"""
    return {
        "mask of one sequence": padding_mask(integers(1, 8, 1, seed="alone"), 9),
        "mask of one position": padding_mask(integers(0, 2, 12, seed="short"), 1),
        "mask of one of each": padding_mask(torch.tensor([1]), 1),
    }


@exercise.probe
def as_many_sequences_as_positions(padding_mask: Any) -> Seen:
    """as many sequences as positions, so that a wrong axis still fits"""
    return {"mask": padding_mask(torch.tensor(distinct(0, 8, 7, seed="square")), 7)}


@exercise.probe
def long_sequences(padding_mask: Any) -> Seen:
    """sequences of some hundred tokens"""
    return {"mask": padding_mask(integers(257, 300, 3, seed="long"), 300)}


def some_lengths() -> tuple[Tensor, int]:
    return torch.tensor([2, 4, 0]), 5


usual(exercise, some_lengths, without=FLOATING)


@exercise.assembled
def padding_in_steps(
    lengths: Tensor, length: int, *, real: Any = padding_mask, polarity: Any = unchanged, place: Any = unchanged
) -> Tensor:
    return place(polarity(real(lengths, length)))


@exercise.instead_of("polarity")
def true_for_padding(mask: Tensor) -> Tensor:
    """Your mask has True for padding.

    In this course True means "may attend", so real tokens are True.
    """
    return ~mask


@exercise.instead_of("real")
def one_too_many(lengths: Tensor, length: int) -> Tensor:
    """Your mask lets the first padding position through.

    Positions count from 0: a sequence of 3 tokens fills the positions 0, 1 and 2.
    """
    return padding_mask(lengths + 1, length)


@exercise.instead_of("real")
def one_too_few(lengths: Tensor, length: int) -> Tensor:
    """Your mask hides the last real token.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return padding_mask(lengths - 1, length)


@exercise.instead_of("place")
def queries_hidden(mask: Tensor) -> Tensor:
    """Your mask hides rows, that is queries, where it should hide columns, that is keys.

    What padding asks does no harm; what it answers does. A hidden row leaves its query with nothing to look at.
    """
    return mask.transpose(-2, -1)


@exercise.instead_of("place")
def no_place_for_queries(mask: Tensor) -> Tensor:
    """Your mask is (batch, length), without a dimension for the queries.

    Against scores (batch, query, key) it would be read as (query, key), and the batch mistaken for the queries.
    """
    return mask.squeeze(-2)


@exercise.instead_of("real")
def padded_on_the_left(lengths: Tensor, length: int) -> Tensor:
    """Your mask expects the padding before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return padding_mask(lengths, length).flip(-1)


@exercise.instead_of("real")
def as_wide_as_the_longest(lengths: Tensor, length: int) -> Tensor:
    """Your mask is only as wide as the longest sequence.

    The batch may be wider than its longest sequence; `length` says how wide.
    """
    return padding_mask(lengths, int(lengths.max()))


@exercise.instead_of("place")
def a_place_for_heads_too(mask: Tensor) -> Tensor:
    """Your mask is (batch, 1, 1, length), with a dimension for heads.

    Here it is (batch, 1, length), which broadcasts to (batch, query, key). Whoever splits into heads adds theirs.
    """
    return mask[:, None]


@exercise.instead_of("place")
def queries_hidden_as_well(mask: Tensor) -> Tensor:
    """Your mask hides padding twice, as keys and as queries, and is (batch, length, length).

    The row of a padding query then allows nothing, and the softmax of nothing is NaN. What padding asks does no harm.
    """
    return mask & mask.transpose(-2, -1)


@exercise.instead_of("place")
def a_row_for_every_query(mask: Tensor) -> Tensor:
    """You repeat the same row for every query: your mask is (batch, length, length).

    The number of queries need not be that of the keys, and broadcasting repeats by itself. A 1 stands for all queries.
    """
    return mask.expand(-1, mask.shape[-1], -1)


@exercise.instead_of("place")
def padding_as_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as floating numbers.

    What is asked for is bool: `~mask` and `masked_fill` will not take anything else.
    """
    return mask.float()


@exercise.instead_of("place")
def padding_as_whole_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as int64.

    What is asked for is bool. `~` means something else for numbers: ~1 is -2, which counts as true.
    """
    return mask.long()


squeezes(exercise)
