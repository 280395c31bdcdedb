"""The exercise `attention_entropy`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import unpacks
from proctor.inside.inputs import distinct, integers, normal
from proctor.inside.properties import random_projection, usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.model.lookup import softmax
from qkv.model.scaling import attention_entropy

exercise = Exercise(
    attention_entropy,
    section="How many keys does a row listen to?",
    minutes=10,
    difficulty=2,
    why="One number that tells whether a head looks at one word or at all of them.",
    hints=[
        "Entropy is an average, weighted by the weights themselves. What is averaged?",
        "Check two rows on paper: [1, 0] should give 0, and [½, ½] should give log 2 ≈ 0.693. Does the sign of yours "
        "fit?",
        "log 0 is -inf, and 0 · -inf is NaN. Decide with `torch.where` what a zero contributes, or look in torch for a "
        "product with a logarithm that knows it.",
    ],
)


def weights_with_zeros() -> tuple[Tensor]:
    scores = normal(2, 3, 5, seed="masked")
    scores[0, 0, 1], scores[0, 1, 0], scores[0, 1, 4], scores[1, 2, 1:] = 4 * [-math.inf]
    return (torch.softmax(scores, dim=-1),)


@exercise.probe
def of_rows_of_weights(attention_entropy: Any) -> Seen:
    """three rows of five weights, in a batch of two"""
    return {"entropy": attention_entropy(torch.softmax(normal(2, 3, 5, seed="scores"), dim=-1))}


@exercise.probe
def of_hidden_keys(attention_entropy: Any) -> Seen:
    """rows that contain weights of exactly 0"""
    return {"entropy": attention_entropy(*weights_with_zeros())}


@exercise.probe
def of_keys_alike(attention_entropy: Any) -> Seen:
    """queries that give all keys the same weight, for several numbers of keys"""
    return {
        f"entropy of {n} keys": attention_entropy(torch.full((2, 3, n), 1 / n)) for n in distinct(2, 60, 3, seed="n")
    }


@exercise.probe
def of_a_batch_of_one(attention_entropy: Any) -> Seen:
    """a batch of one, and a single query in each"""
    return {
        f"entropy with {words}": attention_entropy(torch.softmax(normal(*shape, 5, seed="ones"), dim=-1))
        for words, shape in one_of_each(sequence=2, query=3)
    }


@exercise.probe
def of_one_row(attention_entropy: Any) -> Seen:
    """a single row of four weights, without any other dimension"""
    return if_it_runs(lambda: {"entropy": attention_entropy(torch.softmax(normal(4, seed="row"), dim=-1))})


@exercise.probe
def without_a_batch(attention_entropy: Any) -> Seen:
    """four rows of six weights, without a batch dimension"""
    return if_it_runs(lambda: {"entropy": attention_entropy(torch.softmax(normal(4, 6, seed="rows"), dim=-1))})


@exercise.probe
def inside_three_dimensions(attention_entropy: Any) -> Seen:
    """weights of a batch of two, three heads, four queries, five keys"""
    heads = torch.softmax(normal(2, 3, 4, 5, seed="heads", std=2.0), dim=-1)
    return if_it_runs(lambda: {"entropy": attention_entropy(heads)})


# gradients are looked at where no weight is 0, below: there the slope of w·log w is infinite
usual(exercise, weights_with_zeros, without=["gradients"])


@exercise.property
def of_a_single_key(attention_entropy: Any) -> Seen:
    """rows with a single key, which has all the weight

    A row with a single key has nothing to decide: its entropy is 0.
    """
    return {"entropy": attention_entropy(torch.ones(2, 3, 1))}


def rows_almost_sure(largest: int, parts: int, dtype: torch.dtype) -> Tensor:
    """Rows that give all but a few parts to one key. Whole parts are exact in the dtype, and sum to exactly 1."""
    small = integers(1, largest, 4, 5, seed=f"small {parts}").to(dtype) / parts
    return torch.cat([1 - small.sum(-1, keepdim=True), small], dim=-1)


@exercise.property
def of_rows_almost_sure(attention_entropy: Any) -> Seen:
    """rows that give nearly all the weight to one key, so that the entropy is small, in float64 and in float16

    Where rows are almost sure of one key your entropy is off, although it is right elsewhere. What is small elsewhere
    is not small beside it: a number that is added to every weight or that no weight may fall below, say, or the digits
    that two large numbers lose when one is subtracted from the other.
    """
    return {
        "entropy": attention_entropy(rows_almost_sure(9, 2**14, torch.float64)),
        "entropy in float16": attention_entropy(rows_almost_sure(4, 2**10, torch.float16)),
    }


@exercise.property
def gradient_to_the_scores(attention_entropy: Any) -> Seen:
    """the gradient of the entropy, back to the scores

    The entropy is right, but no gradient, or a wrong one, flows through it. Something cuts the graph: `.detach()`,
    `.data`, `.item()`, a new tensor.
    """
    scores = normal(2, 3, 5, seed="scores", dtype=torch.float64).requires_grad_()
    total = random_projection(attention_entropy(torch.softmax(scores, dim=-1)))
    return {"gradient of the scores": torch.autograd.grad(total, scores)[0]}


@exercise.misconception
def nan_at_zero(weights: Tensor) -> Tensor:
    """A weight of exactly 0 gives you NaN.

    log 0 is -inf, and 0 times -inf is not a number. As a weight shrinks, w·log w goes to 0, so a hidden key should
    count 0. Masks make such weights all the time.
    """
    return -(weights * weights.log()).sum(dim=-1)


@exercise.misconception
def nothing_left_in_float16(weights: Tensor) -> Tensor:
    """The small number that keeps your logarithm away from 0 is itself 0 in float16, and the entropy becomes NaN.

    The smallest positive number of float16 is 6e-8; 1e-9 or 1e-12 are rounded to 0 there, so a weight of 0 gives
    0 · log 0 again. Treat the zeros by themselves, and no such number is needed.
    """
    return -(weights * (weights + 1e-12).log()).sum(dim=-1)


@exercise.misconception
def over_dimension_one(weights: Tensor) -> Tensor:
    """You sum over dimension 1, which are the keys only in a table (query, key).

    With a batch in front, it is something else. Counted from the back, the keys are always the last dimension.
    """
    return -torch.xlogy(weights, weights).sum(dim=1)


@exercise.misconception
def over_dimension_two(weights: Tensor) -> Tensor:
    """You sum over dimension 2, which are the keys only in a tensor (batch, query, key).

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return -torch.xlogy(weights, weights).sum(dim=2)


@exercise.misconception
def entropy_squeezed(weights: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a single query, are sizes like any other.
    """
    return attention_entropy(weights).squeeze()


@exercise.misconception
def last_dimension_kept(weights: Tensor) -> Tensor:
    """Your result keeps a last dimension of size 1.

    There is one number for each row, so the dimension that was summed over goes: (..., n) becomes (...).
    """
    return attention_entropy(weights).unsqueeze(-1)


@exercise.misconception
def as_a_number_of_keys(weights: Tensor) -> Tensor:
    """You return the exponential of the entropy: how many keys it amounts to.

    That number, the perplexity, is what the chapter makes of the entropy. Here the entropy itself is asked for.
    """
    return attention_entropy(weights).exp()


@exercise.misconception
def in_bits(weights: Tensor) -> Tensor:
    """You measure in bits: your logarithm has base 2.

    Here the unit is the nat, the natural logarithm. Then n keys alike give log n, and it can be compared with the
    cross-entropy losses of torch.
    """
    return attention_entropy(weights) / math.log(2)


@exercise.misconception
def share_of_the_largest_possible(weights: Tensor) -> Tensor:
    """You divide by log n.

    That gives a share between 0 and 1, which is useful for comparing rows of different lengths. Here the entropy itself
    is asked for; the chapter divides afterwards.
    """
    return attention_entropy(weights) / math.log(weights.shape[-1])


@exercise.misconception
def what_is_missing_to_the_largest(weights: Tensor) -> Tensor:
    """You return log n minus the entropy: what a row lacks to the largest entropy that n keys can have.

    It is 0 where all keys are alike and largest where a row is sure, the other way round. Entropy is counted from the
    row that is sure.
    """
    return math.log(weights.shape[-1]) - attention_entropy(weights)


@exercise.misconception
def negative(weights: Tensor) -> Tensor:
    """Your entropy is negative.

    The logarithm of a number below 1 is negative, so the plain sum is too. Entropy is counted upwards from 0, the row
    that is sure.
    """
    return -attention_entropy(weights)


@exercise.misconception
def averaged_over_the_keys(weights: Tensor) -> Tensor:
    """You take the plain mean over the keys: your result is n times too small.

    The weights in front of the logarithm already average. What remains is a sum.
    """
    return attention_entropy(weights) / weights.shape[-1]


@exercise.misconception
def one_number_for_all_rows(weights: Tensor) -> Tensor:
    """You sum over all rows and return one number.

    Every query has a row of its own, and one may be sure where another is not. The result has the shape of weights
    without its last dimension.
    """
    return attention_entropy(weights).sum()


@exercise.misconception
def mean_over_all_rows(weights: Tensor) -> Tensor:
    """You average over all rows and return one number.

    Every query has a row of its own, and one may be sure where another is not. The result has the shape of weights
    without its last dimension.
    """
    return attention_entropy(weights).mean()


@exercise.misconception
def logarithm_without_weights(weights: Tensor) -> Tensor:
    """You sum the logarithms without the weights in front.

    Each -log w is a surprise, and it counts as often as it happens: with weight w. Without that factor a nearly hidden
    key dominates the sum.
    """
    return -weights.log().sum(dim=-1)


@exercise.misconception
def chance_of_another_key(weights: Tensor) -> Tensor:
    """You return 1 minus the sum of the squares, which is Gini's impurity.

    It is the chance that two draws give two keys, and never reaches 1. The entropy is the mean surprise, -log w, of a
    single draw: over n keys it reaches log n.
    """
    return 1 - weights.square().sum(dim=-1)


@exercise.misconception
def weights_taken_for_scores(weights: Tensor) -> Tensor:
    """You apply a softmax to the weights first.

    They are weights already; a second softmax flattens them, and every row looks undecided.
    """
    return attention_entropy(softmax(weights, -1))


@exercise.misconception
def over_the_queries(weights: Tensor) -> Tensor:
    """You sum over the queries instead of the keys.

    The weights of one query, along the last dimension, sum to 1 and are one decision. A column belongs to many
    decisions.
    """
    return -torch.xlogy(weights, weights).sum(dim=-2)


unpacks(exercise, "weights", "batch", "n")
