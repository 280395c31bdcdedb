"""The exercise `relative_scores`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.positions import (
    relative_scores,
)

exercise = Exercise(
    relative_scores,
    section="A vector for every distance",
    minutes=20,
    difficulty=3,
    why="Distances instead of places: what is learned at one place holds at every other.",
    hints=[
        "Draw the table of i - j for three queries and five keys, clipped to -m … m. Which rows of `table` are those?",
        "An index into `table` may not be negative: there is a + m. Where is the row of distance 0?",
        "The second term is a dot product as well: of query i with the row for its distance to key j.",
        "`q @ table.T` has every query with every row. From each query's row of results pick one for each key.",
    ],
)


def queries_keys_and_table() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 4, 6, seed="q"), normal(2, 7, 6, seed="k"), normal(5, 6, seed="table")


@exercise.probe
def four_queries_seven_keys(relative_scores: Any) -> Seen:
    """four queries over seven keys, distances clipped at 2"""
    return {"scores": relative_scores(*queries_keys_and_table())}


@exercise.probe
def more_queries_than_keys(relative_scores: Any) -> Seen:
    """six queries over three keys, without a batch dimension"""
    return {"scores": relative_scores(normal(6, 4, seed="q"), normal(3, 4, seed="k"), normal(7, 4, seed="table"))}


@exercise.probe
def a_table_longer_than_the_text(relative_scores: Any) -> Seen:
    """three queries over three keys, distances up to 4 in the table"""
    return {"scores": relative_scores(normal(3, 5, seed="q"), normal(3, 5, seed="k"), normal(9, 5, seed="table"))}


@exercise.probe
def a_table_of_one_row(relative_scores: Any) -> Seen:
    """a table of a single row, m = 0"""
    q, k = normal(2, 3, 4, seed="q"), normal(2, 5, 4, seed="k")
    return {"scores": relative_scores(q, k, normal(1, 4, seed="table"))}


@exercise.probe
def sizes_of_one_to_score(relative_scores: Any) -> Seen:
    """a single query, a single key, a single sequence, vectors of a single number"""
    sizes = {
        "query": ((2, 1, 4), (2, 6, 4), (5, 4)),
        "key": ((6, 4), (1, 4), (5, 4)),
        "sequence": ((1, 3, 4), (1, 5, 4), (3, 4)),
        "number": ((2, 3, 1), (2, 5, 1), (3, 1)),
        "of each": ((1, 1, 1), (1, 1, 1), (1, 1)),
    }
    return {
        f"scores of one {name}": relative_scores(normal(*q, seed="q"), normal(*k, seed="k"), normal(*t, seed="t"))
        for name, (q, k, t) in sizes.items()
    }


@exercise.probe
def scores_with_two_batch_dimensions(relative_scores: Any) -> Seen:
    """two batch dimensions, distances clipped at 1"""
    q, k = normal(2, 3, 5, 4, seed="q"), normal(2, 3, 6, 4, seed="k")
    return {"scores": relative_scores(q, k, normal(3, 4, seed="table"))}


def of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return normal(5, 5, seed="q"), normal(5, 5, seed="k"), normal(5, 5, seed="table")


usual(exercise, queries_keys_and_table, alike=of_one_shape)


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


def distances(q: Tensor, k: Tensor) -> Tensor:
    query, key = (torch.arange(x.shape[-2], device=x.device) for x in (q, k))
    return query[:, None] - key


def clipped_rows(distance: Tensor, m: int) -> Tensor:
    return distance.clamp(-m, m) + m


def asked_by_the_query(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    return torch.einsum("...id,ijd->...ij", q, vectors)


@exercise.assembled
def relative_in_steps(
    q: Tensor,
    k: Tensor,
    table: Tensor,
    *,
    compare: Any = dot_products,
    measure: Any = distances,
    rows: Any = clipped_rows,
    ask: Any = asked_by_the_query,
) -> Tensor:
    vectors = table[rows(measure(q, k), table.shape[0] // 2)]
    result: Tensor = compare(q, k) + ask(q, k, vectors)
    return result


@exercise.instead_of("measure")
def key_minus_query(q: Tensor, k: Tensor) -> Tensor:
    """You measure from the query to the key: j - i instead of i - j.

    The first paper on this does it so. Here positive means that the key is in the past; with the signs exchanged, a
    table that learned "look one back" looks one ahead.
    """
    return -distances(q, k)


@exercise.instead_of("measure")
def ends_aligned(q: Tensor, k: Tensor) -> Tensor:
    """You place the last query beside the last key.

    That is right while a model writes with a cache. Here queries and keys both start at position 0.
    """
    return distances(q, k) + (k.shape[-2] - q.shape[-2])


@exercise.instead_of("measure")
def distance_without_direction(q: Tensor, k: Tensor) -> Tensor:
    """You use the size of the distance only, so past and future get the same vector.

    The table has 2m+1 rows because "two before" and "two after" are different answers.
    """
    return distances(q, k).abs()


@exercise.instead_of("rows")
def table_not_centred(distance: Tensor, m: int) -> Tensor:
    """You index the table with the distance itself, without + m.

    Then distance 0 takes row 0, and a negative distance counts from the end of the table, as negative indices do.
    """
    return distance.clamp(-m, m)


@exercise.instead_of("rows")
def clipped_after_the_shift(distance: Tensor, m: int) -> Tensor:
    """You clip after adding m, so all positive distances share the row of distance 0.

    Clip the distance to -m … m first, or its row to 0 … 2m.
    """
    return (distance + m).clamp(0, m)


@exercise.instead_of("rows")
def the_row_of_no_distance(distance: Tensor, m: int) -> Tensor:
    """Every pair gets the same row of your table, the one for distance 0.

    Then the scores say nothing about the distance. Query i and key j should get row clip(i-j, -m, m) + m.
    """
    return torch.full_like(distance, m)


@exercise.instead_of("rows")
def wrapped_around(distance: Tensor, m: int) -> Tensor:
    """Distances beyond m start again at the other end of the table.

    With a remainder, m+1 means the same as -m: a key far behind looks like a key far ahead. Far distances should
    share the last row.
    """
    return (distance + m) % (2 * m + 1)


@exercise.instead_of("ask")
def asked_by_the_key(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """You multiply the distance's vector by the key instead of by the query.

    The query decides what it looks for, a content and a distance; so both terms are dot products with the query.
    """
    return torch.einsum("...jd,ijd->...ij", k, vectors)


@exercise.instead_of("ask")
def a_price_for_the_distance(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """You add up the distance's vector without the query.

    Then every query has the same opinion of a distance. That is the idea of T5's bias; here the query is asked.
    """
    return vectors.sum(dim=-1)


@exercise.instead_of("ask")
def content_alone(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """Your scores hold the content and not the distance: the table is not used.

    The two terms are added: what the key is, and how far away it is.
    """
    return torch.zeros_like(dot_products(q, k))


@exercise.instead_of("compare")
def position_alone(q: Tensor, k: Tensor) -> Tensor:
    """Your scores hold the distance and not the content: q·k is missing.

    The two terms are added: what the key is, and how far away it is.
    """
    return torch.zeros_like(dot_products(q, k))


@exercise.misconception
def already_divided(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """You divide the scores by the square root of d.

    Attention divides later, once, by itself. Here the unscaled sum is asked for.
    """
    return relative_scores(q, k, table) / math.sqrt(q.shape[-1])


@exercise.instead_of("compare")
def only_with_one_batch_dimension_of_keys(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for q and k of three dimensions only: you exchange dimensions 1 and 2.

    Before (key, d) there may be a batch, heads, both, or nothing at all. Counted from the end, the two are -2 and -1.
    """
    return q @ k.transpose(1, 2)


@exercise.instead_of("compare")
def only_for_bmm(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for q and k of three dimensions only: `torch.bmm` knows no others.

    Before (key, d) there may be a batch, heads, both, or nothing at all. `@` multiplies the last two dimensions,
    whatever comes before.
    """
    return torch.bmm(q, k.transpose(-2, -1))


@exercise.instead_of("compare")
def only_without_a_batch(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for a single sequence only: `k.T` turns all dimensions round.

    Before (key, d) there may be a batch, heads, or both. Exchange the last two dimensions alone: `k.mT`.
    """
    return q @ k.T


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d")
