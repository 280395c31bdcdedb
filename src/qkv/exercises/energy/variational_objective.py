"""The exercise `variational_objective`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, number, uniform
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.energy import (
    variational_objective,
)

exercise = Exercise(
    variational_objective,
    section="What a softmax maximises",
    minutes=5,
    difficulty=1,
    why="It is the question to which the softmax is the best answer.",
    hints=[
        "Two parts: what p collects on average, and how widely it is spread.",
        "Where p is 0 the term is 0, but a computer has NaN for 0·(-inf), and for 0·log 0 too. What may stand in for "
        "the score there?",
        "`torch.xlogy` and `torch.special.entr` know that 0·log 0 = 0.",
    ],
    equivalents={
        "collected = p * scores.masked_fill(p == 0, 0.0)  ->  collected = p * scores.masked_fill(p == 0, 1.0)": (
            "0 times any finite number is 0, and the gradient in p is not asked for where p is 0"
        )
    },
)


def weights_and_scores(*leading: int, n: int) -> tuple[Tensor, Tensor]:
    p = torch.softmax(normal(*leading, n, seed="p"), -1)
    return p, normal(*leading, n, seed="scores", std=1.5)


def distributions() -> tuple[Any, ...]:
    a, n = distinct(3, 8, 2, seed="sizes")
    return *weights_and_scores(a, n=n), number(0.3, 3.0, seed="beta")


def with_zeros() -> tuple[Tensor, Tensor, float]:
    """A row without a weight of 0, one with, and two with a weight of 0 on a score of -inf."""
    p, scores = weights_and_scores(4, n=6)
    p[1:, 1], p[2, 4] = 0.0, 0.0
    scores[2:, 1] = -math.inf
    return p, scores, number(0.5, 2.0, seed="beta")


@exercise.probe
def some_distributions(variational_objective: Any) -> Seen:
    """several distributions at some beta"""
    return {"objective": variational_objective(*distributions())}


@exercise.probe
def any_leading_dimensions(variational_objective: Any) -> Seen:
    """no leading dimension and `beta` left at its default; two leading dimensions; a batch of one; a single state"""
    a, b, n = distinct(2, 7, 3, seed="sizes")
    beta = number(1.5, 4.0, seed="beta")
    p, scores = weights_and_scores(n=n)
    return {
        "of one row": variational_objective(p, 5 + scores),
        "of many": variational_objective(*weights_and_scores(a, b, n=n), beta),
        "of a batch of one": variational_objective(*weights_and_scores(1, n=n), beta),
        "of a single state": variational_objective(*weights_and_scores(a, n=1), beta),
    }


@exercise.probe
def weights_of_zero(variational_objective: Any) -> Seen:
    """some weights of 0, some of them on a score of -inf"""
    return {"objective": variational_objective(*with_zeros())}


@exercise.probe
def weight_on_the_impossible(variational_objective: Any) -> Seen:
    """a row with some weight on a score of -inf, beside an ordinary row"""
    p, scores = weights_and_scores(3, n=4)
    scores[1, 2] = -math.inf
    return {"objective": variational_objective(p, scores, number(0.5, 2.0, seed="beta"))}


@exercise.probe
def not_a_distribution(variational_objective: Any) -> Seen:
    """weights that do not sum to 1"""
    a, n = distinct(3, 8, 2, seed="sizes")
    return {"objective": variational_objective(uniform(a, n, seed="p") + 0.1, normal(a, n, seed="scores"), 0.5)}


@exercise.probe
def gradients_at_zeros(variational_objective: Any) -> Seen:
    """the gradient in the scores, and in the weights above 0, where some weights are 0"""
    p, scores, beta = with_zeros()
    inputs = p.requires_grad_(), scores.requires_grad_()
    result = variational_objective(*inputs, beta)
    if not result.requires_grad:
        return {"gradient of scores": torch.zeros_like(scores), "gradient of p above 0": torch.zeros_like(p[p > 0])}
    found = torch.autograd.grad(result, inputs, normal(4, seed="incoming"), allow_unused=True)
    in_p, in_scores = (torch.zeros_like(t) if g is None else g for t, g in zip(inputs, found, strict=True))
    return {"gradient of scores": in_scores, "gradient of p above 0": in_p[p > 0]}


usual(exercise, distributions, alike=with_zeros)


def score_collected(p: Tensor, scores: Tensor) -> Tensor:
    return (p * scores.masked_fill(p == 0, 0.0)).sum(-1)


def entropy_of(p: Tensor) -> Tensor:
    return -torch.xlogy(p, p).sum(-1)


def as_given(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    return p


def added_by_beta(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    return collected + entropy / beta


@exercise.assembled
def objective_in_steps(
    p: Tensor,
    scores: Tensor,
    beta: float = 1.0,
    *,
    weights: Any = as_given,
    collect: Any = score_collected,
    spread: Any = entropy_of,
    join: Any = added_by_beta,
) -> Tensor:
    p = weights(p, scores, beta)
    return join(collect(p, scores), spread(p), beta)


@exercise.instead_of("join")
def entropy_subtracted(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You subtract the entropy; it should be added.

    Then the best distribution would put everything on one score, and no softmax would come out.
    """
    return collected - entropy / beta


@exercise.instead_of("join")
def entropy_times_beta(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You multiply the entropy by beta where you should divide.

    A large beta means that the scores decide: the entropy counts 1/beta.
    """
    return collected + entropy * beta


@exercise.instead_of("join")
def entropy_in_full(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You do not use beta.

    The entropy is divided by it.
    """
    return collected + entropy


@exercise.instead_of("join")
def beta_on_the_scores(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You multiply the scores by beta instead of dividing the entropy by it.

    That has the same maximiser, but another value: yours is beta times as large.
    """
    return beta * collected + entropy


@exercise.instead_of("join")
def entropy_left_out(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You return the mean score alone.

    Without the entropy, all weight on the best score is best.
    """
    return collected


@exercise.instead_of("join")
def sign_of_an_energy(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You return the negative: a free energy, to be made small.

    Here it is an objective, to be made large.
    """
    return -(collected + entropy / beta)


@exercise.instead_of("spread")
def in_bits(p: Tensor) -> Tensor:
    """Your entropy is in bits.

    Only with natural logarithms, in nats, is the softmax with its exponential what maximises this.
    """
    return entropy_of(p) / math.log(2)


@exercise.instead_of("spread")
def nothing_times_infinity(p: Tensor) -> Tensor:
    """A weight of 0 makes NaN: 0 times log 0 is 0 times -inf for a computer.

    In an entropy 0·log 0 counts 0: what never happens surprises nobody.
    """
    return -(p * p.log()).sum(-1)


@exercise.instead_of("spread")
def a_little_added(p: Tensor) -> Tensor:
    """You add a small number inside the logarithm, which cuts off small weights.

    `torch.xlogy(p, p)` needs no help at 0, and is exact everywhere else.
    """
    return -(p * (p + 1e-2).log()).sum(-1)


@exercise.instead_of("collect")
def impossible_times_nothing(p: Tensor, scores: Tensor) -> Tensor:
    """A weight of 0 on a score of -inf makes NaN.

    What is never chosen costs nothing: 0·(-inf) counts 0 here.
    """
    return (p * scores).sum(-1)


@exercise.instead_of("collect")
def infinity_made_finite(p: Tensor, scores: Tensor) -> Tensor:
    """A score of -inf counts 0 also where its weight is not 0.

    Whoever puts weight on what cannot be gets -inf. Only a weight of exactly 0 is safe.
    """
    return (p * scores.masked_fill(scores.isinf(), 0.0)).sum(-1)


@exercise.instead_of("collect")
def scores_averaged(p: Tensor, scores: Tensor) -> Tensor:
    """You divide the collected score by the number of states.

    p has the weights in it already: Σ p·s is an average.
    """
    return score_collected(p, scores) / p.shape[-1]


@exercise.instead_of("weights")
def made_to_sum_to_one(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    """You divide p by its sum.

    It is used as given. Whoever moves p freely, by gradient ascent for instance, has to see what p itself does.
    """
    return p / p.sum(-1, keepdim=True)


@exercise.instead_of("weights")
def softmax_instead(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    """You use the softmax of the scores, not the p that you were given.

    The softmax is the best p. Here any p is to be judged.
    """
    return torch.softmax(beta * scores, -1)


squeezes(exercise)
unpacks(exercise, "p", "batch", "n")
