"""The exercise `zero_padding`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal
from proctor.inside.properties import same_in, usual
from proctor.inside.situations import Seen
from qkv.exercises.masks.shared import padded, unchanged
from qkv.model.masks import (
    padding_mask,
    zero_padding,
)

exercise = Exercise(
    zero_padding,
    section="Zeroing padding",
    minutes=10,
    difficulty=2,
    why="What stands behind the end of a sentence should not leak into what comes after.",
    hints=[
        "Which positions of sequence b are padding, in terms of lengths[b]?",
        "`padding_mask` gives (batch, 1, seq). x is (batch, seq, d_model): along which dimension should the mask run?",
        "Do not write into x: make a new tensor.",
    ],
)


@exercise.probe
def some_empty_some_full(zero_padding: Any) -> Seen:
    """sequences of 2, 5, 0 and another number of tokens in a batch of width 5"""
    return {"x": zero_padding(*padded())}


@exercise.probe
def as_wide_as_long(zero_padding: Any) -> Seen:
    """a batch in which every size is 4, so that a wrong axis still fits"""
    return {"x": zero_padding(normal(4, 4, 4, seed="x"), torch.tensor(distinct(0, 5, 4, seed="square")))}


@exercise.probe
def random_lengths(zero_padding: Any) -> Seen:
    """lengths drawn at random, in a batch wider than the longest"""
    return {"x": zero_padding(normal(6, 7, 2, seed="x"), torch.tensor(distinct(0, 6, 6, seed="lengths")))}


@exercise.probe
def sizes_of_one_among_vectors(zero_padding: Any) -> Seen:
    """a single sequence, sequences of a single position, vectors of a single number"""
    return {
        "x of one sequence": zero_padding(normal(1, 6, 3, seed="alone"), integers(1, 6, 1, seed="one")),
        "x of one position": zero_padding(normal(4, 1, 3, seed="short"), torch.tensor([1, 0, 1, 0])),
        "x of one number": zero_padding(normal(3, 5, 1, seed="thin"), torch.tensor([3, 0, 5])),
        "x of one of each": zero_padding(normal(1, 1, 1, seed="least"), torch.tensor([1])),
    }


@exercise.probe
def full_batch(zero_padding: Any) -> Seen:
    """sequences without any padding"""
    return {"x": zero_padding(normal(3, 4, 2, seed="full"), torch.tensor([4, 4, 4]))}


@exercise.probe
def loud_padding_to_zero(zero_padding: Any) -> Seen:
    """padding that holds numbers of 1e30"""
    x = normal(2, 6, 3, seed="loud")
    x[0, 2:], x[1, 5:] = 1e30, -1e30
    return {"x": zero_padding(x, torch.tensor([2, 5]))}


def long_and_padded() -> tuple[Tensor, Tensor]:
    return normal(2, 300, 2, seed="long"), 1 + 4 * integers(64, 74, 2, seed="hundreds")


usual(exercise, padded, without=["in_bfloat16"])


exercise.property(same_in(torch.bfloat16, long_and_padded))  # which has no 257, 261, 265, …: they are rounded down


@exercise.assembled
def zeroing_in_steps(x: Tensor, lengths: Tensor, *, until: Any = unchanged, zero: Any = zero_padding) -> Tensor:
    return zero(x, until(lengths))


@exercise.instead_of("zero")
def real_tokens_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero the real tokens and keep the padding.

    The mask is True for real tokens; zero where it is not.
    """
    return x - zero_padding(x, lengths)


@exercise.instead_of("until")
def one_padding_kept(lengths: Tensor) -> Tensor:
    """You keep the first padding vector.

    Positions count from 0: with 3 tokens, position 3 is padding already.
    """
    return lengths + 1


@exercise.instead_of("until")
def last_token_zeroed(lengths: Tensor) -> Tensor:
    """You zero the last real token too.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return lengths - 1


@exercise.instead_of("zero")
def features_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero features instead of positions.

    The mask runs along the last dimension of x, where the features are; positions are the dimension before.
    """
    return zero_padding(x.transpose(1, 2), lengths).transpose(1, 2)


@exercise.instead_of("until")
def cut_to_the_longest(lengths: Tensor) -> Tensor:
    """You zero everything beyond the longest sequence only.

    Each sequence has a length of its own.
    """
    return lengths.max().expand_as(lengths)


@exercise.instead_of("zero")
def zeroed_in_place(x: Tensor, lengths: Tensor) -> Tensor:
    """You write the zeros into the x that you were given.

    The caller still needs it, and autograd may too. Make a new tensor.
    """
    with torch.no_grad():
        x.copy_(zero_padding(x, lengths))
    return x * 1.0


@exercise.instead_of("zero")
def padded_in_front(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero the first positions, as if padding came before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return zero_padding(x.flip(1), lengths).flip(1)


@exercise.instead_of("zero")
def cut_off_after_the_longest(x: Tensor, lengths: Tensor) -> Tensor:
    """Your result is only as wide as the longest sequence.

    The rest of the model goes on with the width that the batch has. Zero what is beyond; do not cut it off.
    """
    return zero_padding(x, lengths)[:, : int(lengths.max())]


@exercise.instead_of("zero")
def filled_with_minus_infinity(x: Tensor, lengths: Tensor) -> Tensor:
    """You fill the padding with -inf.

    That is for scores before a softmax. A vector of -inf makes everything infinite, or NaN, that touches it. Here
    padding becomes 0.
    """
    return x.masked_fill(~padding_mask(lengths, x.shape[1]).transpose(-2, -1), -math.inf)


@exercise.instead_of("until")
def the_first_length_for_all(lengths: Tensor) -> Tensor:
    """You use the first sequence's length for all of them.

    Each sequence has a length of its own.
    """
    return lengths[:1].expand_as(lengths)


squeezes(exercise)
