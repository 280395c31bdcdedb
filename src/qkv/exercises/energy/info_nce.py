"""The exercise `info_nce`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import unpacks
from proctor.inside.inputs import distinct, normal, number, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.energy import (
    info_nce,
)

exercise = Exercise(
    info_nce,
    section="Which one belongs to me?",
    minutes=10,
    difficulty=2,
    why="Most vectors that are learned without labels are learned with this loss.",
    hints=[
        "It is a classification among 1 + n keys. Where do you put the right one?",
        "The score is the cosine divided by the temperature: lengths have no say.",
        "For a temperature of 0.001 the scores are as large as 1000. `log(softmax)` overflows or gives -inf; what does "
        "not?",
    ],
    equivalents={
        "cosines = F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1)  ->  "
        "cosines = F.cosine_similarity(keys, query.unsqueeze(-2), dim=-1)": "a cosine is symmetric"
    },
)


def asked(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys of all lengths, so that a dot product is no cosine."""
    lengths = uniform(*leading, n, 1, seed="lengths", low=0.5, high=3.0)
    return (
        2 * normal(*leading, d, seed="query"),
        normal(*leading, d, seed="positive"),
        lengths * normal(*leading, n, d, seed="negatives"),
    )


def some_contrast() -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *asked(a, n=n, d=d), number(0.3, 0.8, seed="temperature")


@exercise.probe
def a_batch_of_queries(info_nce: Any) -> Seen:
    """a batch of queries, all sizes different"""
    return {"loss": info_nce(*some_contrast())}


@exercise.probe
def a_query_or_many(info_nce: Any) -> Seen:
    """a single query, and queries in two dimensions"""
    n, d = distinct(3, 8, 2, seed="sizes")
    temperature = number(0.2, 0.4, seed="temperature")
    return {
        "of one": info_nce(*asked(n=n, d=d), temperature),
        "of many": info_nce(*asked(2, 3, n=n, d=d), temperature),
    }


@exercise.probe
def a_single_negative(info_nce: Any) -> Seen:
    """one negative; vectors of a single number"""
    a, d = distinct(3, 8, 2, seed="sizes")
    return {
        "of one negative": info_nce(*asked(a, n=1, d=d), number(0.2, 0.4, seed="temperature")),
        "of width 1": info_nce(*asked(a, n=d, d=1), number(1.5, 3.0, seed="warm")),
    }


@exercise.probe
def a_low_temperature(info_nce: Any) -> Seen:
    """a temperature of 0.001"""
    return {"loss": info_nce(*asked(6, n=whole(5, 9, seed="n"), d=4), 0.001)}


@exercise.property
def nothing_to_confuse_with(info_nce: Any) -> Seen:
    """no negatives at all

    Without negatives the positive has the whole share: the loss is 0.
    """
    return {"loss": info_nce(*asked(3, n=0, d=4), 0.5)}


usual(exercise, some_contrast, alike=lambda: (*asked(n=1, d=5)[:2], normal(1, 5, seed="negative"), 0.5))


def cosine(query: Tensor, keys: Tensor) -> Tensor:
    return F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1)


def divided_by_the_temperature(cosines: Tensor, temperature: float) -> Tensor:
    return cosines / temperature


def share_of_the_first(scores: Tensor) -> Tensor:
    return -scores.log_softmax(-1)[..., 0]


def mean_of_all(losses: Tensor) -> Tensor:
    return losses.mean()


@exercise.assembled
def contrast_in_steps(
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    temperature: float,
    *,
    compare: Any = cosine,
    cool: Any = divided_by_the_temperature,
    lose: Any = share_of_the_first,
    reduce: Any = mean_of_all,
) -> Tensor:
    keys = torch.cat([positive.unsqueeze(-2), negatives], dim=-2)
    return reduce(lose(cool(compare(query, keys), temperature)))


@exercise.instead_of("compare")
def by_dot_product(query: Tensor, keys: Tensor) -> Tensor:
    """You compare by dot products; they should be cosines.

    With a dot product a long key is close to everything. Divide by both lengths.
    """
    return (query.unsqueeze(-2) * keys).sum(-1)


@exercise.instead_of("compare")
def keys_not_normalised(query: Tensor, keys: Tensor) -> Tensor:
    """You scale the query to length 1, but not the keys.

    A cosine divides by both lengths.
    """
    return (F.normalize(query, dim=-1).unsqueeze(-2) * keys).sum(-1)


@exercise.instead_of("compare")
def query_not_normalised(query: Tensor, keys: Tensor) -> Tensor:
    """You scale the keys to length 1, but not the query.

    A cosine divides by both lengths. A long query would act as a low temperature.
    """
    return (query.unsqueeze(-2) * F.normalize(keys, dim=-1)).sum(-1)


@exercise.instead_of("compare")
def by_distance(query: Tensor, keys: Tensor) -> Tensor:
    """You compare by distances; they should be cosines.

    The score of a key is its cosine with the query, divided by the temperature.
    """
    return -(query.unsqueeze(-2) - keys).norm(dim=-1)


@exercise.instead_of("cool")
def temperature_multiplied(cosines: Tensor, temperature: float) -> Tensor:
    """You multiply by the temperature where you should divide.

    A low temperature makes scores large and the softmax sharp.
    """
    return cosines * temperature


@exercise.instead_of("cool")
def temperature_unused(cosines: Tensor, temperature: float) -> Tensor:
    """You do not use the temperature.

    Cosines lie between -1 and 1: without a temperature the softmax is nearly flat, and the loss can't become small.
    """
    return cosines


@exercise.instead_of("lose")
def positive_not_among_them(scores: Tensor) -> Tensor:
    """The positive key is not in your denominator.

    Then the loss can fall below 0, and with it goes the meaning of a share. The softmax is over all 1 + n keys.
    """
    return scores[..., 1:].logsumexp(-1) - scores[..., 0]


@exercise.instead_of("lose")
def sign_forgotten(scores: Tensor) -> Tensor:
    """The minus is missing: your loss is negative, and grows as the model gets better.

    A loss is -log of the share.
    """
    return scores.log_softmax(-1)[..., 0]


@exercise.instead_of("lose")
def share_itself(scores: Tensor) -> Tensor:
    """You average 1 minus the share; the logarithm is missing.

    With the logarithm a share near 0 costs much, and its gradient does not vanish.
    """
    return 1 - scores.softmax(-1)[..., 0]


@exercise.instead_of("lose")
def logarithm_of_nothing(scores: Tensor) -> Tensor:
    """You take the softmax first and its logarithm after, so a share that underflows costs infinitely much.

    At a temperature of 0.001 a share is easily exp(-500) = 0. `log_softmax` never makes the share itself.
    """
    return -scores.softmax(-1)[..., 0].log()


@exercise.instead_of("lose")
def overflowing(scores: Tensor) -> Tensor:
    """You take the exponentials of the scores as they are, and at a low temperature they overflow.

    At a temperature of 0.001 a score is up to 1000, and exp(89) is already more than float32 can hold: inf divided by
    inf is NaN. `log_softmax` takes the largest score out first.
    """
    powers = scores.exp()
    return -(powers[..., 0] / powers.sum(-1)).log()


@exercise.instead_of("lose")
def last_one_right(scores: Tensor) -> Tensor:
    """Your loss belongs to the wrong key: a negative is taken for the positive one.

    Whichever place you put the positive key at, its share is the one that counts.
    """
    return -scores.log_softmax(-1)[..., -1]


@exercise.instead_of("lose")
def one_by_one(scores: Tensor) -> Tensor:
    """You ask of each key alone whether it belongs to the query, by a sigmoid.

    That is negative sampling. Here the keys compete for one share: a softmax over all of them.
    """
    return -F.logsigmoid(scores[..., 0]) - F.logsigmoid(-scores[..., 1:]).sum(-1)


@exercise.instead_of("reduce")
def losses_summed(losses: Tensor) -> Tensor:
    """You sum over the queries; it should be their mean.

    Otherwise the loss grows with the batch.
    """
    return losses.sum()


@exercise.instead_of("reduce")
def one_loss_for_each(losses: Tensor) -> Tensor:
    """You return one loss for each query.

    One number is asked for: the mean over all leading dimensions.
    """
    return losses


@exercise.misconception
def bound_returned(query: Tensor, positive: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """You return log(1 + n) minus the loss.

    That is a bound on the shared information, and it is what the loss is used for. Here the loss itself is asked for.
    """
    return math.log(1 + negatives.shape[-2]) - info_nce(query, positive, negatives, temperature)


unpacks(exercise, "query", "batch", "d")
