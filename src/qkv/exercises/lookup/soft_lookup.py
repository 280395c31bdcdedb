"""The exercise `soft_lookup`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.lookup.similarity_scores import cosine_instead_of_dot, keys_against_queries, the_batch_turned_too
from qkv.model.lookup import similarity_scores, soft_lookup, softmax

exercise = Exercise(
    soft_lookup,
    section="The soft lookup",
    minutes=5,
    difficulty=1,
    why="This is attention. The rest of the course makes it stable, plural, and aware of order.",
    hints=[
        "Three steps: compare, weigh, average. You have built the first two.",
        "One query's weights over all keys should sum to 1. Along which dimension of (query, key) is that?",
        "The average is a matrix product. Weights are (..., query, key), values (..., key, d_v): which size vanishes?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def queries_keys_values() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 7, seed="q", std=0.5), normal(2, 5, 7, seed="k"), normal(2, 5, 4, seed="v")


@exercise.probe
def three_queries_over_five_keys(soft_lookup: Any) -> Seen:
    """three queries over five keys, d_k = 7, d_v = 4"""
    return {"output": soft_lookup(*queries_keys_values())}


@exercise.probe
def looking_up_one_of_each(soft_lookup: Any) -> Seen:
    """a batch of one, one query, one key, keys of width 1, values of width 1, each in turn"""
    found = {}
    for words, sizes in one_of_each(sequence=2, query=3, key=5, component=7, column=4):
        batch, query, key, d_k, d_v = sizes
        shapes = {"q": (query, d_k), "k": (key, d_k), "v": (key, d_v)}
        found[f"output with {words}"] = soft_lookup(*(normal(batch, *s, seed=name) for name, s in shapes.items()))
    return found


def of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return normal(4, 4, 4, seed="q"), normal(4, 4, 4, seed="k"), normal(4, 4, 4, seed="v")


@exercise.probe
def square_shapes(soft_lookup: Any) -> Seen:
    """a batch of four, four queries, four keys, width four, so that a wrong axis still fits"""
    return {"output": soft_lookup(*of_one_shape())}


@exercise.probe
def of_loud_keys(soft_lookup: Any) -> Seen:
    """keys so long that every score lies around 120 for the first query, around -120 for the second"""
    q, k, v = queries_keys_values()
    q[..., 0], k[..., 0] = torch.tensor([10.0, -10.0, 0.0]), 12.0
    return {"output": soft_lookup(q, k, v)}


@exercise.probe
def outside_of_a_batch(soft_lookup: Any) -> Seen:
    """three queries over six keys, without a batch dimension"""
    return if_it_runs(
        lambda: {"output": soft_lookup(normal(3, 4, seed="q"), normal(6, 4, seed="k"), normal(6, 2, seed="v"))}
    )


@exercise.probe
def inside_two_batch_dimensions(soft_lookup: Any) -> Seen:
    """two batch dimensions"""
    shapes = {"q": (2, 3, 4, 6), "k": (2, 3, 5, 6), "v": (2, 3, 5, 7)}
    return if_it_runs(lambda: {"output": soft_lookup(*(normal(*shape, seed=name) for name, shape in shapes.items()))})


usual(exercise, queries_keys_values, alike=of_one_shape)


@exercise.assembled
def lookup_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    compare: Any = similarity_scores,
    weigh: Any = softmax,
    average: Any = torch.matmul,
) -> Tensor:
    return average(weigh(compare(q, k), -1), v)


@exercise.instead_of("weigh")
def softmax_over_queries(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over the queries, so the weights of one query do not sum to 1.

    Each query distributes its own attention over the keys; the queries do not compete with each other.
    """
    return softmax(scores, -2)


@exercise.instead_of("weigh")
def softmax_over_the_first_dimension(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 0, which is the batch as soon as there is one.

    Counted from the front, the keys are in another place for every number of batch dimensions. Counted from the back
    they never move.
    """
    return softmax(scores, 0)


@exercise.instead_of("weigh")
def softmax_over_dimension_one(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """
    return softmax(scores, 1)


@exercise.instead_of("weigh")
def softmax_over_dimension_two(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 2, which are the keys only if there is exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return softmax(scores, 2)


@exercise.instead_of("weigh")
def softmax_over_everything(scores: Tensor, dim: int) -> Tensor:
    """Your weights sum to 1 over the whole tensor, not for each query.

    Each query distributes its own attention over the keys: its row of weights sums to 1, whatever the other rows do.
    """
    return softmax(scores.flatten(), 0).view_as(scores)


@exercise.instead_of("weigh")
def shifted_by_one_maximum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest score of the whole tensor, not of each row.

    A query whose scores all lie far below it is left with powers of 0, and 0/0 is NaN. Every row has its own maximum.
    """
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(-1, keepdim=True)


@exercise.instead_of("weigh")
def no_softmax(scores: Tensor, dim: int) -> Tensor:
    """You weigh the values by the raw scores, without a softmax.

    Raw scores can be negative and do not sum to 1, so the result is no average: it can leave the range of the values.
    """
    return scores


@exercise.instead_of("weigh")
def hard_lookup(scores: Tensor, dim: int) -> Tensor:
    """You return the value of the best key alone.

    That is what a dictionary does. It has no useful gradient: a slightly better key changes nothing until it wins.
    """
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


@exercise.instead_of("weigh")
def overflowing_softmax(scores: Tensor, dim: int) -> Tensor:
    """Your weights overflow for large scores.

    The exponential of a score above 88 is inf in float32, and inf/inf is NaN. Use the stable softmax that you built.
    """
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


@exercise.instead_of("weigh")
def sigmoid_weights(scores: Tensor, dim: int) -> Tensor:
    """Your weights are sigmoids: each key is judged by itself, and the weights do not sum to 1.

    The softmax makes the keys compete. Without competition the output grows with the number of keys.
    """
    return scores.sigmoid()


@exercise.instead_of("compare")
def scaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """You divide the scores by the square root of d_k.

    That belongs to the next chapter, which shows why. Here the plain, unscaled lookup is asked for.
    """
    return similarity_scores(q, k) / math.sqrt(q.shape[-1])


@exercise.instead_of("compare")
def cosine_scores(q: Tensor, k: Tensor) -> Tensor:
    """You compare directions only: your scores are cosines.

    The dot product keeps the lengths of query and key; a longer query makes sharper weights.
    """
    return cosine_instead_of_dot(q, k)


@exercise.instead_of("compare")
def scores_turned(q: Tensor, k: Tensor) -> Tensor:
    """Your table of scores has a row for each key; it should have a row for each query.

    Where there are as many queries as keys it still runs, and every query gets an answer that belongs to a key.
    """
    return keys_against_queries(q, k)


@exercise.instead_of("compare")
def lookup_for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@exercise.instead_of("compare")
def lookup_for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@exercise.instead_of("compare")
def lookup_for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@exercise.instead_of("compare")
def the_batch_turned_as_well(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return the_batch_turned_too(q, k)


@exercise.instead_of("average")
def averaged_twice(weights: Tensor, v: Tensor) -> Tensor:
    """You divide by the number of keys although the weights of a query already sum to 1.

    A weighted average is the sum of weight times value. The division was done inside the softmax.
    """
    return weights @ v / v.shape[-2]


@exercise.misconception
def keys_averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You average the keys; the values are never used.

    Keys say where to look, values say what is found there. The weights come from the keys, the average is over the
    values.
    """
    return softmax(similarity_scores(q, k), -1) @ k


@exercise.misconception
def output_squeezed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. One query, one key and a batch of one are sizes like any other.
    """
    return soft_lookup(q, k, v).squeeze()


@exercise.misconception
def values_compared(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You compare the queries with the values instead of with the keys.

    The keys are what a query is matched against; the values are only what is averaged.
    """
    return softmax(similarity_scores(q, v), -1) @ v


@exercise.misconception
def weights_returned(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You return the weights; the values are never used.

    The weights say whom a query listens to. The answer is what it hears: the average of the values with these weights.
    """
    return softmax(similarity_scores(q, k), -1)


@exercise.misconception
def plain_average(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You give every key the same weight, so the query does not matter.

    A plain average answers every question alike. The weights should follow from the scores.
    """
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1]).clone()
