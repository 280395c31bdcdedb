"""The exercise `linear_attention`."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, uniform
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.cost.shared import many, qkv, stays_small
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    linear_attention,
)

exercise = Exercise(
    linear_attention,
    section="Swapping two brackets",
    minutes=10,
    difficulty=2,
    why="The same product with its brackets elsewhere: the memory has one size at every length.",
    hints=[
        "(φ(q) φ(k)ᵀ) v and φ(q) (φ(k)ᵀ v) are the same numbers. Which of the two is small in between?",
        "The divisor is a sum over keys of the same products, with 1 in the place of v.",
        "Causal: query i uses the sum over the keys up to i, itself included. Which function gives all running sums?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


@exercise.probe
def all_keys(linear_attention: Any) -> Seen:
    """queries over keys, all sizes different"""
    return {"output": linear_attention(*qkv(*distinct(2, 8, 4, seed="sizes"), 3))}


@exercise.probe
def keys_so_far(linear_attention: Any) -> Seen:
    """a causal sequence"""
    n, d_k, d_v = distinct(3, 9, 3, seed="sizes")
    return {"output": linear_attention(*qkv(n, n, d_k, d_v, 2), True)}


@exercise.probe
def any_batch(linear_attention: Any) -> Seen:
    """no leading dimension, and two of them, causal and not"""
    n, d_k, d_v = distinct(3, 7, 3, seed="sizes")
    return {
        "without a batch": linear_attention(*qkv(n, n, d_k, d_v)),
        "causal, without a batch": linear_attention(*qkv(n, n, d_k, d_v), causal=True),
        "two leading dimensions": linear_attention(*qkv(n, d_v, d_k, 1, 2, 3)),
        "causal, two leading dimensions": linear_attention(*qkv(n, n, 1, d_v, 3, 2), causal=True),
    }


@exercise.probe
def larger_entries(linear_attention: Any) -> Seen:
    """entries between -10 and 10"""
    n, d_k, d_v = distinct(4, 9, 3, seed="sizes")
    q, k = (uniform(n, d_k, seed=name, low=-10, high=10) for name in "qk")
    q[:, 0], k[:, 0] = q[:, 0].abs(), k[:, 0].abs()  # no row of tiny features alone, which float32 has few digits of
    v = normal(n, d_v, seed="v")
    return {"output": linear_attention(q, k, v), "causal": linear_attention(q, k, v, True)}


@exercise.probe
def tiny_weights(linear_attention: Any) -> Seen:
    """a single key with entries around -6, whose weight is tiny"""
    q, k, v = uniform(3, 1, seed="q", low=-7, high=-6), uniform(1, 1, seed="k", low=-7, high=-6), normal(1, 4, seed="v")
    return {"output": linear_attention(q, k, v), "causal": linear_attention(q[:1], k, v, True)}


@exercise.property
def nothing_for_each_pair(linear_attention: Any) -> Seen:
    """a long sequence, every key visible

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. Multiply keys
    with values first: their product does not grow with the length.
    """
    return stays_small(linear_attention, *qkv(many(), many(), 4, 3))


@exercise.property
def nothing_for_each_pair_if_causal(linear_attention: Any) -> Seen:
    """a long causal sequence

    Causal or not, no tensor needs an entry for each pair of positions; yours has one in the causal case. The sum over
    the keys so far is the sum for the query before, plus one product.
    """
    return stays_small(linear_attention, *qkv(many(), many(), 4, 3), True)


usual(
    exercise,
    lambda: (*qkv(4, 5, 3, 2, 2), False),
    lambda attend: lambda q, k, v, causal: (attend(q, k, v), attend(k, k, v, causal=True)),
    alike=lambda: (*qkv(5, 5, 5, 5), True),
)


def elu_plus_one(x: Tensor) -> Tensor:
    return F.elu(x) + 1


def running(terms: Tensor, causal: bool) -> Tensor:
    return terms.cumsum(-3) if causal else terms.sum(-3, keepdim=True)


def divided(output: Tensor, total: Tensor) -> Tensor:
    return output / total


@exercise.assembled
def linear_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    *,
    feature: Any = elu_plus_one,
    sums: Any = running,
    total_sums: Any = running,
    divide: Any = divided,
) -> Tensor:
    q, k = feature(q).unsqueeze(-2), feature(k).unsqueeze(-1)
    memory, total = sums(k * v.unsqueeze(-2), causal), total_sums(k, causal)
    return divide((q @ memory).squeeze(-2), (q @ total).squeeze(-2))


@exercise.instead_of("feature")
def rectified(x: Tensor) -> Tensor:
    """Your features are relu(x).

    Then a key with no positive entry is never seen, and a query with none divides 0 by 0. elu(x) + 1 is positive
    everywhere.
    """
    return x.relu()


@exercise.instead_of("feature")
def rectified_plus_one(x: Tensor) -> Tensor:
    """Your features are relu(x) + 1.

    For x above 0 that is elu(x) + 1. Below, every entry becomes the same 1, so that keys which are far apart look
    alike; elu(x) + 1 is exp(x) there.
    """
    return x.relu() + 1


@exercise.instead_of("feature")
def one_not_added(x: Tensor) -> Tensor:
    """Your features are elu(x); the 1 is missing.

    elu falls to -1. Weights could be negative and their sum 0.
    """
    return F.elu(x)


@exercise.instead_of("feature")
def one_added_inside(x: Tensor) -> Tensor:
    """You add the 1 before elu, not after it.

    elu(x + 1) still falls below 0; elu(x) + 1 does not.
    """
    return F.elu(x + 1)


@exercise.instead_of("feature")
def exponential(x: Tensor) -> Tensor:
    """Your features are exp(x).

    For negative entries that is the same. For positive ones elu(x) + 1 is x + 1, which grows slowly.
    """
    return x.exp()


@exercise.instead_of("feature")
def softened(x: Tensor) -> Tensor:
    """Your features are a softmax of the entries.

    That is another paper's map. Here φ(x) = elu(x) + 1, entry by entry.
    """
    return x.softmax(-1)


@exercise.instead_of("feature")
def scaled_first(x: Tensor) -> Tensor:
    """You divide queries and keys by a root of d_k.

    Nothing is scaled here: φ is not an exponential that could saturate.
    """
    return elu_plus_one(x / x.shape[-1] ** 0.25)


@exercise.instead_of("sums")
def causal_ignored(terms: Tensor, causal: bool) -> Tensor:
    """You sum keys and values over all positions, causal or not.

    With causal=True query i uses the keys up to i only, above the bar and below it.
    """
    return running(terms, False)


@exercise.instead_of("total_sums")
def divisor_of_all_keys(terms: Tensor, causal: bool) -> Tensor:
    """In the causal case you divide by the weights of all keys, the hidden ones included.

    The weights of the visible keys have to sum to 1: the divisor is a running sum, too.
    """
    return running(terms, False)


@exercise.misconception
def never_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You do not use `causal`.

    With causal=True query i sees the keys j ≤ i only.
    """
    return linear_attention(q, k, v)


@exercise.misconception
def always_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You take running sums also where every query may see every key.

    Only with causal=True are later keys hidden.
    """
    return linear_in_steps(q, k, v, True)


@exercise.misconception
def itself_not_seen(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """In the causal case a query does not see its own position.

    Query i sees the keys j ≤ i: update the sums before you read them. Otherwise the first query divides 0 by 0.
    """

    def before(terms: Tensor, causal: bool) -> Tensor:
        return running(terms, True) - terms if causal else running(terms, False)

    return linear_in_steps(q, k, v, causal, sums=before, total_sums=before)


@exercise.misconception
def from_the_end(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """In the causal case you sum from the end: each query sees itself and the future.

    Query i sees the keys j ≤ i.
    """

    def backwards(terms: Tensor, causal: bool) -> Tensor:
        return running(terms.flip(-3), True).flip(-3) if causal else running(terms, False)

    return linear_in_steps(q, k, v, causal, sums=backwards, total_sums=backwards)


@exercise.instead_of("divide")
def never_divided(output: Tensor, total: Tensor) -> Tensor:
    """You do not divide by the sum of the weights.

    Without it the output grows with the number of keys; attention is an average.
    """
    return output


@exercise.instead_of("divide")
def epsilon_added(output: Tensor, total: Tensor) -> Tensor:
    """You add a small number to the divisor.

    Where features are tiny it is not small any more, and the weights no longer sum to 1. φ is never 0, so nothing has
    to be added.
    """
    return output / (total + 1e-6)


@exercise.misconception
def queries_left_alone(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You apply φ to the keys, but not to the queries.

    Weights are products of two features. With a raw query they can be negative.
    """
    k = elu_plus_one(k).unsqueeze(-1)
    q = q.unsqueeze(-2)
    return ((q @ running(k * v.unsqueeze(-2), causal)) / (q @ running(k, causal))).squeeze(-2)


@exercise.misconception
def pair_by_pair(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Your values are right, but you make the weights of all pairs of query and key.

    (φ(q) φ(k)ᵀ) v costs n²; the same with the brackets moved, φ(q) (φ(k)ᵀ v), does not.
    """
    weights = elu_plus_one(q) @ elu_plus_one(k).mT
    weights = weights.tril() if causal else weights
    return weights @ v / weights.sum(-1, keepdim=True)


@exercise.misconception
def pair_by_pair_if_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Your values are right, but in the causal case you make the weights of all pairs and hide a triangle.

    The sum over the keys so far is the sum for the query before, plus one product: a running sum.
    """
    return pair_by_pair(q, k, v, True) if causal else linear_attention(q, k, v)


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d_k")
