"""The exercise `similarity_scores`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.model.lookup import similarity_scores, softmax

exercise = Exercise(
    similarity_scores,
    section="Comparing every query with every key",
    minutes=5,
    difficulty=1,
    why="One matrix product compares every query with every key: that is why attention runs well on a GPU.",
    hints=[
        "Write the shapes beside the names: q is (..., query, d_k), k is (..., key, d_k). Which shape should come out?",
        "In a matrix product the inner sizes meet and vanish. Here d_k should vanish: how must k be turned?",
        "Turn only the last two dimensions. `.T` turns all of them, and the batch with them.",
    ],
)


def queries_and_keys() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 7, seed="q"), normal(2, 5, 7, seed="k")


@exercise.probe
def three_queries_five_keys(similarity_scores: Any) -> Seen:
    """three queries and five keys of width 7, in a batch of two"""
    return {"scores": similarity_scores(*queries_and_keys())}


@exercise.probe
def with_sizes_of_one(similarity_scores: Any) -> Seen:
    """a batch of one, one query, one key, one component, each in turn"""
    found = {}
    for words, (batch, query, key, d_k) in one_of_each(sequence=2, query=3, key=5, component=7):
        q, k = normal(batch, query, d_k, seed="q"), normal(batch, key, d_k, seed="k")
        found[f"scores with {words}"] = similarity_scores(q, k)
    return found


@exercise.probe
def all_sizes_alike(similarity_scores: Any) -> Seen:
    """a batch of four, four queries and four keys of width 4, so that a wrong axis still fits"""
    return {"scores": similarity_scores(normal(4, 4, 4, seed="q"), normal(4, 4, 4, seed="k"))}


@exercise.probe
def without_a_batch(similarity_scores: Any) -> Seen:
    """four queries and six keys, without a batch dimension"""
    return if_it_runs(lambda: {"scores": similarity_scores(normal(4, 3, seed="q"), normal(6, 3, seed="k"))})


@exercise.probe
def two_batch_dimensions(similarity_scores: Any) -> Seen:
    """two batch dimensions before three queries and four keys"""
    return if_it_runs(lambda: {"scores": similarity_scores(normal(2, 5, 3, 6, seed="q"), normal(2, 5, 4, 6, seed="k"))})


usual(exercise, queries_and_keys, alike=lambda: (normal(2, 4, 4, seed="q"), normal(2, 4, 4, seed="k")))


@exercise.misconception
def keys_against_queries(q: Tensor, k: Tensor) -> Tensor:
    """Your scores are turned: row j, column i instead of row i, column j.

    A row belongs to a query and lists all keys. Turned, the softmax would later run over queries instead of keys.
    """
    return k @ q.transpose(-2, -1)


@exercise.misconception
def features_against_features(q: Tensor, k: Tensor) -> Tensor:
    """You sum over the positions and keep the features, so the result compares columns, not queries with keys.

    The dot product of a query and a key sums over their d_k components; those are what should vanish.
    """
    return q.transpose(-2, -1) @ k


@exercise.misconception
def keys_not_turned(q: Tensor, k: Tensor) -> Tensor:
    """You multiply q by k without turning k.

    Then a component of the query meets a whole key. It only runs where there are as many keys as components, and means
    nothing there.
    """
    return q @ k


@exercise.misconception
def the_batch_turned_too(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return q @ k.permute(*reversed(range(k.dim())))


@exercise.misconception
def first_two_dimensions_turned(q: Tensor, k: Tensor) -> Tensor:
    """You turn the first two dimensions of k; with a batch in front these are not the ones.

    Counted from the front, the keys are in another place for every number of batch dimensions. Counted from the back
    they never move.
    """
    return q @ k.transpose(0, 1)


@exercise.misconception
def for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@exercise.misconception
def for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@exercise.misconception
def for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@exercise.misconception
def every_batch_with_every_batch(q: Tensor, k: Tensor) -> Tensor:
    """You compare the queries of each sequence with the keys of all sequences.

    A batch is a bundle of sequences that have nothing to do with each other. The leading dimensions of q and k are the
    same, and go together.
    """
    return torch.tensordot(q, k, dims=([-1], [-1]))


@exercise.misconception
def only_matching_positions(q: Tensor, k: Tensor) -> Tensor:
    """You compare query i with key i only.

    Every query should be compared with every key: a table, not a list.
    """
    return (q * k).sum(dim=-1)


@exercise.misconception
def cosine_instead_of_dot(q: Tensor, k: Tensor) -> Tensor:
    """You divide by the lengths of the vectors, which gives the cosine.

    The dot product keeps the length: a long key can call louder than a short one in the same direction.
    """
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)


@exercise.misconception
def distance_instead_of_dot(q: Tensor, k: Tensor) -> Tensor:
    """You compare by distance: near vectors score high, far ones low.

    That is a similarity too, but another one. By the dot product a key twice as long matches twice as well; by distance
    it is further away.
    """
    return -torch.cdist(q, k)


@exercise.misconception
def scores_squeezed(q: Tensor, k: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. One query, one key and a batch of one are sizes like any other.
    """
    return similarity_scores(q, k).squeeze()


@exercise.misconception
def sum_of_the_components(q: Tensor, k: Tensor) -> Tensor:
    """You add the components of query and key where they should be multiplied.

    A product is large where both components are, and negative where they disagree. A sum never asks whether they agree.
    """
    return (q.unsqueeze(-2) + k.unsqueeze(-3)).sum(dim=-1)


@exercise.misconception
def already_scaled(q: Tensor, k: Tensor) -> Tensor:
    """You divide the scores by the square root of d_k.

    That division has its reasons, and the next chapter finds them. Here the plain dot product is asked for.
    """
    return similarity_scores(q, k) / math.sqrt(q.shape[-1])


@exercise.misconception
def averaged_over_components(q: Tensor, k: Tensor) -> Tensor:
    """You average over the components instead of summing them.

    A dot product is the sum of the products; a mean is that divided by d_k.
    """
    return similarity_scores(q, k) / q.shape[-1]


@exercise.misconception
def weights_already(q: Tensor, k: Tensor) -> Tensor:
    """You apply the softmax already.

    Here the bare scores are asked for: any real numbers. Turning them into weights is a step of its own, so that later
    chapters can put something between the two.
    """
    return softmax(similarity_scores(q, k), -1)
