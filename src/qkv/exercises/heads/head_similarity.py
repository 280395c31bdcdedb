"""The exercise `head_similarity`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.model.heads import head_similarity

exercise = Exercise(
    head_similarity,
    section="How alike are two heads?",
    minutes=15,
    difficulty=2,
    why="It shows whether heads have learned different things, which nothing in the loss asks of them.",
    hints=[
        "Start with two rows: one query's weights in head g and in head h. What is the cosine of the angle between "
        "them?",
        "If all rows have length 1, their cosines are dot products. Along which dimension is a row?",
        "One matrix product can give all pairs of heads at once, if head and key are the last two dimensions.",
        "Average last: first all cosines (batch, query, head, head), then the mean over batch and query.",
    ],
    equivalents={
        "cosines = rows @ rows.transpose(-2, -1)  ->  cosines = rows @ rows.transpose(2, -1)": "the same dimension",
        "return cosines.mean(dim=(0, 1))  ->  return cosines.mean(dim=(1, 0))": "the same two dimensions",
    },
)


def attention_weights() -> tuple[Tensor]:
    return (normal(2, 3, 4, 5, seed="scores", std=1.5).softmax(dim=-1),)


@exercise.probe
def of_soft_heads(head_similarity: Any) -> Seen:
    """three heads, four queries over five keys, in a batch of two"""
    return {"similarity": head_similarity(*attention_weights())}


@exercise.probe
def of_sharp_heads(head_similarity: Any) -> Seen:
    """two sharp heads, six queries over four keys, in a batch of three"""
    return {"similarity": head_similarity(normal(3, 2, 6, 4, seed="scores", std=4.0).softmax(dim=-1))}


@exercise.probe
def of_masked_heads(head_similarity: Any) -> Seen:
    """four heads over five tokens that do not see their future, so that some weights are exactly 0"""
    scores = normal(1, 4, 5, 5, seed="scores", std=2.0)
    return {"similarity": head_similarity(scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1))}


@exercise.probe
def of_a_head_and_its_copy(head_similarity: Any) -> Seen:
    """three heads, of which the first and the last are equal"""
    weights = normal(2, 3, 6, 4, seed="scores", std=2.0).softmax(dim=-1)
    weights[:, 2] = weights[:, 0]
    return {"similarity": head_similarity(weights)}


@exercise.probe
def of_sizes_of_one(head_similarity: Any) -> Seen:
    """a batch of one, a single head, a single query, each in turn"""
    return {
        f"similarity with {words}": head_similarity(normal(*shape, 5, seed="ones", std=1.5).softmax(dim=-1))
        for words, shape in one_of_each(sequence=2, head=3, query=4)
    }


usual(exercise, attention_weights)


@exercise.property
def of_a_single_key(head_similarity: Any) -> Seen:
    """weights over a single key, which has the weight 1 in every head

    Where there is a single key, all heads look at it, and every similarity is 1.
    """
    return {"similarity": head_similarity(torch.ones(2, 3, 4, 1))}


@exercise.misconception
def cosine_of_the_averages(weights: Tensor) -> Tensor:
    """You average the maps over batch and queries first, and compare the averages.

    Two heads that look at different keys for each query can have the same average. Compare row by row, then average.
    """
    return head_similarity(weights.mean(dim=(0, 2), keepdim=True))


@exercise.misconception
def cosine_of_whole_maps(weights: Tensor) -> Tensor:
    """You compare whole maps (query, key) by one cosine, so that sharp rows count more than soft ones.

    A row is one query's decision, and every query counts alike: one cosine for each query, then the mean.
    """
    return head_similarity(weights.flatten(2).unsqueeze(2))


@exercise.misconception
def cosine_of_everything(weights: Tensor) -> Tensor:
    """You compare the heads by one cosine over batch, queries and keys together.

    Then sharp rows count more than soft ones. One cosine for each query of each sequence, then the mean over both.
    """
    return head_similarity(weights.transpose(0, 1).flatten(1)[None, :, None])


@exercise.misconception
def dot_products(weights: Tensor) -> Tensor:
    """You take dot products of the rows as they are; their lengths are not divided out.

    A row sums to 1, but its length does not: it is 1 for a sharp row and less for a soft one. So even a head and
    itself would not have the similarity 1.
    """
    rows = weights.transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).mean(dim=(0, 1))


@exercise.misconception
def along_the_queries(weights: Tensor) -> Tensor:
    """You compare columns: how all queries look at one key.

    A row, one query's weights over the keys, is what a head decides. The cosine runs over the keys.
    """
    return head_similarity(weights.transpose(-2, -1))


@exercise.misconception
def summed_up(weights: Tensor) -> Tensor:
    """You add the cosines up instead of averaging them.

    Then the number grows with the batch and with the sequence. A head and itself should have the similarity 1.
    """
    return head_similarity(weights) * (weights.shape[0] * weights.shape[2])


@exercise.misconception
def averaged_over_the_batch_alone(weights: Tensor) -> Tensor:
    """You average over the batch but add up over the queries.

    The mean is over both: every query of every sequence counts once.
    """
    return head_similarity(weights) * weights.shape[2]


@exercise.misconception
def first_sequence_alone(weights: Tensor) -> Tensor:
    """You look at the first sequence of the batch alone.

    The mean is over all sequences and all queries.
    """
    return head_similarity(weights[:1])


@exercise.misconception
def distance_instead(weights: Tensor) -> Tensor:
    """You return one minus the cosine: a distance.

    Similarity is asked for: equal heads give 1.
    """
    return 1 - head_similarity(weights)


@exercise.misconception
def correlation(weights: Tensor) -> Tensor:
    """You subtract each row's mean first, which gives the correlation.

    The cosine takes the weights as they are; so two uniform heads have the similarity 1, where a correlation would be
    0/0.
    """
    rows = weights - weights.mean(dim=-1, keepdim=True)
    return head_similarity(rows)


@exercise.misconception
def every_query_with_every_query(weights: Tensor) -> Tensor:
    """You compare the rows of all pairs of queries, also of different ones.

    Two heads are alike if they look alike at the same moment: the cosine is of their rows at the same query.
    """
    rows = F.normalize(weights, dim=-1)
    return torch.einsum("bgqk,bhrk->bghqr", rows, rows).mean(dim=(0, 3, 4))


@exercise.misconception
def averaged_over_the_queries_alone(weights: Tensor) -> Tensor:
    """You average over the queries but add up over the batch.

    The mean is over both: every query of every sequence counts once.
    """
    return head_similarity(weights) * weights.shape[0]


@exercise.misconception
def most_alike(weights: Tensor) -> Tensor:
    """You return the largest cosine that two heads reach, not the average.

    One query at which two heads agree would make them look alike everywhere.
    """
    rows = F.normalize(weights, dim=-1).transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).amax(dim=(0, 1))


@exercise.misconception
def one_for_each_sequence(weights: Tensor) -> Tensor:
    """Your result is (batch, head, head): you average over the queries and keep the batch.

    One number for each pair of heads is asked for, averaged over both.
    """
    rows = F.normalize(weights, dim=-1).transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).mean(dim=1)


squeezes(exercise)
