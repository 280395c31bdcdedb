"""The exercise `linformer_attention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.cost.shared import many, qkv, stays_small
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    linformer_attention,
)

exercise = Exercise(
    linformer_attention,
    section="Fewer keys",
    minutes=5,
    difficulty=1,
    why="Fewer keys are cheaper to look at, and what was mixed cannot be told apart again.",
    hints=[
        "e is (rank, key), k is (key, d_k). Which product gives (rank, d_k)?",
        "After that it is attention as you know it, over rank keys instead of all of them.",
        "In which order do you multiply? q kᵀ eᵀ is the same number, but q kᵀ alone has an entry for each pair.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def mixed(query: int, key: int, d_k: int, d_v: int, rank: int, *leading: int) -> tuple[Tensor, ...]:
    e, f = (normal(rank, key, seed=name, std=2 / math.sqrt(key)) for name in "ef")
    return *qkv(query, key, d_k, d_v, *leading), e, f


def some_mixtures(*leading: int) -> tuple[Tensor, ...]:
    return mixed(*distinct(2, 9, 5, seed="sizes"), *leading)


@exercise.probe
def some_queries(linformer_attention: Any) -> Seen:
    """a batch in which every size differs"""
    return {"output": linformer_attention(*some_mixtures(2))}


@exercise.probe
def without_a_batch(linformer_attention: Any) -> Seen:
    """no leading dimension"""
    return {"output": linformer_attention(*mixed(*distinct(2, 9, 5, seed="other sizes")))}


@exercise.probe
def with_two_leading_dimensions(linformer_attention: Any) -> Seen:
    """two leading dimensions"""
    return {"output": linformer_attention(*mixed(*distinct(4, 9, 5, seed="third sizes"), 2, 3))}


@exercise.probe
def as_many_as_keys(linformer_attention: Any) -> Seen:
    """as many mixtures as keys and queries, so that a transposed matrix still fits"""
    n = whole(5, 9, seed="n")
    return {"output": linformer_attention(*mixed(n, n, 3, 2, n))}


@exercise.probe
def one_of_each(linformer_attention: Any) -> Seen:
    """a single mixture, and a single key"""
    single_mixture = linformer_attention(*mixed(3, 5, 4, 2, 1))
    return {"of one mixture": single_mixture, "of one key": linformer_attention(*mixed(1, 1, 1, 1, 3))}


@exercise.property
def no_tensor_of_pairs(linformer_attention: Any) -> Seen:
    """a long sequence and a few mixtures

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. That is what
    the mixtures are there to avoid: mix the keys first.
    """
    return stays_small(linformer_attention, *mixed(many(), many(), 4, 3, 6))


usual(exercise, lambda: some_mixtures(2), alike=lambda: mixed(5, 5, 5, 5, 5))


def keys_mixed(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    return e @ k, f @ v


def width_of_keys(q: Tensor, e: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def over_mixtures(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


@exercise.assembled
def linformer_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    e: Tensor,
    f: Tensor,
    *,
    mix: Any = keys_mixed,
    scale: Any = width_of_keys,
    weigh: Any = over_mixtures,
) -> Tensor:
    keys, values = mix(k, v, e, f)
    return weigh(q @ keys.mT / scale(q, e)) @ values


@exercise.instead_of("mix")
def exchanged(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the keys by f and the values by e.

    e comes first and belongs to the keys, f to the values.
    """
    return f @ k, e @ v


@exercise.instead_of("mix")
def e_for_both(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the values by e as well; f is never used.

    Sharing them is possible (the paper tries it), but here both are given.
    """
    return e @ k, e @ v


@exercise.instead_of("mix")
def f_for_both(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the keys by f as well; e is never used.

    Sharing them is possible (the paper tries it), but here both are given.
    """
    return f @ k, f @ v


@exercise.instead_of("mix")
def mixtures_made_weights(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You put a softmax over the rows of e and f.

    They are used as they are: learned matrices, whose entries may be negative.
    """
    return e.softmax(-1) @ k, f.softmax(-1) @ v


@exercise.instead_of("mix")
def averaged(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You divide the mixtures by the number of keys.

    e and f are used as they are; whoever makes them decides about their size.
    """
    return e @ k / e.shape[-1], f @ v / f.shape[-1]


@exercise.instead_of("mix")
def keys_left_alone(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You do not mix at all: this is attention over every key.

    e and f make a few keys and values out of many.
    """
    return k, v


@exercise.instead_of("mix")
def transposed(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You use e and f transposed.

    They are (rank, key): each row says how to mix all keys into one.
    """
    return e.mT @ k, f.mT @ v


@exercise.instead_of("scale")
def unscaled(q: Tensor, e: Tensor) -> float:
    """You do not divide the scores by the root of d_k.

    They are dot products of d_k components, as ever.
    """
    return 1.0


@exercise.instead_of("scale")
def scaled_by_the_rank(q: Tensor, e: Tensor) -> float:
    """You divide the scores by the root of the rank.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(e.shape[0])


@exercise.instead_of("scale")
def scaled_by_the_keys(q: Tensor, e: Tensor) -> float:
    """You divide the scores by the root of the number of keys.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(e.shape[1])


@exercise.instead_of("weigh")
def over_queries(scores: Tensor) -> Tensor:
    """Your softmax runs over the queries.

    Each query shares 1 among the mixtures: that is the last dimension.
    """
    return scores.softmax(-2)


@exercise.instead_of("weigh")
def a_triangle(scores: Tensor) -> Tensor:
    """You hide a triangle, as for causal attention.

    A mixture holds keys of all positions, so it has no position of its own: this attention can't be masked.
    """
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@exercise.misconception
def mixed_too_late(q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Tensor:
    """Your values are right, but you multiply queries with all keys before you mix.

    The product of three matrices is the same in either order; the tensor in between is not. q kᵀ has an entry for each
    pair of positions.
    """
    return (q @ k.mT @ e.mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f @ v)


@exercise.misconception
def mixed_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Tensor:
    """You mix the weights after the softmax instead of the keys before it.

    Then all pairs have been computed already, and rows no longer sum to 1.
    """
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ e.mT @ (f @ v)


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d_k")
