"""The exercise `bradley_terry_loss`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number, permutation, uniform
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.aligned.shared import FINITE
from qkv.model.aligned import (
    bradley_terry_loss,
)

exercise = Exercise(
    bradley_terry_loss,
    section="To prefer: who beats whom",
    minutes=8,
    difficulty=1,
    why="It turns comparisons, which people find easy, into a number for each answer, which a machine can learn from.",
    hints=[
        "Each row of `pairs` holds two indices. What is the reward of every winner, as one tensor?",
        "The winner wins with probability σ(difference), says the model. The loss is its surprise at what happened.",
        "σ(-1000) is 0 in floating point, and log 0 is -inf. Which function of torch leads from a difference to log σ "
        "in one step?",
    ],
)


def drawn_pairs(n: int, m: int, seed: str) -> Tensor:
    """Rows of two different indices; with more rows than answers some occur more often than others."""
    winners = integers(0, n, m, seed=f"{seed}: winners")
    return torch.stack([winners, (winners + integers(1, n, m, seed=f"{seed}: steps")) % n], dim=1)


def some_preferences() -> tuple[Tensor, Tensor]:
    n, m = distinct(4, 10, 2, seed="sizes")
    return normal(n, seed="rewards", std=1.5), drawn_pairs(n, m, "some")


@exercise.probe
def pairs_of_some_answers(bradley_terry_loss: Any) -> Seen:
    """some answers, compared in pairs"""
    return {"loss": bradley_terry_loss(*some_preferences())}


@exercise.probe
def many_pairs_of_few(bradley_terry_loss: Any) -> Seen:
    """three answers in many pairs, the same ones again and the other way round"""
    (m,) = distinct(9, 20, 1, seed="many")
    pairs = drawn_pairs(3, m, "many")
    return {"loss": bradley_terry_loss(2 * normal(3, seed="rewards of three"), torch.cat([pairs, pairs[:4].flip(1)]))}


@exercise.probe
def few_pairs_of_many(bradley_terry_loss: Any) -> Seen:
    """many answers of which few were compared"""
    (n,) = distinct(15, 30, 1, seed="number")
    return {"loss": bradley_terry_loss(normal(n, seed="rewards of many"), drawn_pairs(n, 4, "few"))}


@exercise.probe
def one_pair(bradley_terry_loss: Any) -> Seen:
    """one pair, and one in which the winner has the smaller reward"""
    low, gap = number(-2, 2, seed="low"), number(0.5, 3, seed="gap")
    rewards = torch.tensor([low, low + gap])
    return {
        "as expected": bradley_terry_loss(rewards, torch.tensor([[1, 0]])),
        "an upset": bradley_terry_loss(rewards, torch.tensor([[0, 1]])),
    }


def far_apart(n: int, seed: str) -> Tensor:
    """Rewards in steps of about 2,000 from -10,000 to 10,000."""
    steps = torch.linspace(-1e4, 1e4, n) + uniform(n, seed=f"{seed}: shifts", low=-300.0, high=300.0)
    return steps[permutation(n, seed=f"{seed}: order")]


@exercise.probe
def thousands(bradley_terry_loss: Any) -> Seen:
    """rewards around 10,000 and -10,000"""
    (m,) = distinct(6, 14, 1, seed="of thousands")
    pairs = drawn_pairs(9, m, "thousands")
    return {"loss": bradley_terry_loss(far_apart(9, "thousands"), torch.cat([pairs, pairs[:1].flip(1)]))}


@exercise.probe
def hundreds(bradley_terry_loss: Any) -> Seen:
    """differences of about 100, where the winner has the smaller reward"""
    low = normal(4, seed="low ones")
    rewards = torch.cat([low, low + uniform(4, seed="gaps", low=90.0, high=200.0)])
    return {"loss": bradley_terry_loss(rewards, torch.tensor([[0, 4], [1, 5], [2, 6], [3, 7]]))}


usual(exercise, some_preferences)


@exercise.property
def gradients_of_thousands(bradley_terry_loss: Any) -> Seen:
    """the gradient, with rewards around 10,000 and -10,000

    With rewards of ±10,000 your gradient is not right. It is the chance that the loser would have won, between 0 and 1;
    an exponential of a large number on the way makes it NaN.
    """
    rewards = far_apart(7, "steep").requires_grad_()
    pairs = drawn_pairs(7, 8, "steep")
    result = bradley_terry_loss(rewards, torch.cat([pairs, pairs[:1].flip(1)]))
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {FINITE: True, "gradient": torch.zeros_like(rewards)}
    (gradient,) = torch.autograd.grad(result.sum(), rewards)
    return {FINITE: bool(gradient.isfinite().all()), "gradient": gradient.nan_to_num(0.0, 0.0, 0.0)}


def winner_less_loser(rewards: Tensor, pairs: Tensor) -> Tensor:
    return rewards[pairs[:, 0]] - rewards[pairs[:, 1]]


def minus_log_sigmoid(differences: Tensor) -> Tensor:
    return -F.logsigmoid(differences)


def mean_of_pairs(losses: Tensor, rewards: Tensor) -> Tensor:
    return losses.mean()


@exercise.assembled
def preferences_in_steps(
    rewards: Tensor,
    pairs: Tensor,
    *,
    compare: Any = winner_less_loser,
    lose: Any = minus_log_sigmoid,
    average: Any = mean_of_pairs,
) -> Tensor:
    return average(lose(compare(rewards, pairs)), rewards)


@exercise.instead_of("compare")
def loser_less_winner(rewards: Tensor, pairs: Tensor) -> Tensor:
    """You subtract the other way round: loser and winner have changed places.

    Then the loss falls when the loser's reward grows. The first column of `pairs` is the winner.
    """
    return rewards[pairs[:, 1]] - rewards[pairs[:, 0]]


@exercise.instead_of("compare")
def distance_alone(rewards: Tensor, pairs: Tensor) -> Tensor:
    """You take the size of the difference, whoever is ahead.

    Then a winner with the smaller reward looks as good as one with the larger.
    """
    return winner_less_loser(rewards, pairs).abs()


@exercise.instead_of("compare")
def winner_alone(rewards: Tensor, pairs: Tensor) -> Tensor:
    """You look at the rewards of the winners alone.

    What counts is how far the winner is ahead of the loser; a reward by itself has no zero.
    """
    return rewards[pairs[:, 0]]


@exercise.instead_of("lose")
def sigmoid_before_the_logarithm(differences: Tensor) -> Tensor:
    """You form σ, or an exponential, before you take the logarithm; where the loser is far ahead nothing finite is
    left.

    σ(-1000) is smaller than any float above 0, and exp(1000) larger than any. Get log σ without forming either.
    """
    return -torch.log(torch.sigmoid(differences))


@exercise.instead_of("lose")
def probability_alone(differences: Tensor) -> Tensor:
    """You average the chance that the loser wins; the logarithm is missing.

    A pair that the rewards have very wrong then hardly pulls any more, since σ is flat there. The loss is -log σ.
    """
    return 1 - torch.sigmoid(differences)


@exercise.instead_of("lose")
def difference_alone(differences: Tensor) -> Tensor:
    """You average the differences; the -log σ is missing.

    Such a loss has no end: it falls for ever as the rewards grow. -log σ is content once the winner is well ahead.
    """
    return -differences


@exercise.instead_of("lose")
def hinge(differences: Tensor) -> Tensor:
    """You use a hinge: a winner who is ahead by 1 costs nothing.

    That is another loss. Bradley and Terry say how likely each outcome is, and the loss is -log of it.
    """
    return F.relu(1 - differences)


@exercise.instead_of("lose")
def squared(differences: Tensor) -> Tensor:
    """You square how far the chance of the winner is from 1.

    Like every loss of a probability without its logarithm, it is flat where the rewards are very wrong.
    """
    return (1 - torch.sigmoid(differences)).square()


@exercise.instead_of("lose")
def sign_forgotten(differences: Tensor) -> Tensor:
    """The minus is missing: your loss is negative, and grows as the rewards get better.

    The logarithm of a probability is never above 0. The loss is -log σ.
    """
    return F.logsigmoid(differences)


@exercise.instead_of("lose")
def counted_in_bits(differences: Tensor) -> Tensor:
    """Your logarithm has the base 2.

    The course's losses are in nats: the logarithm is the natural one.
    """
    return -F.logsigmoid(differences) / math.log(2)


@exercise.instead_of("average")
def summed(losses: Tensor, rewards: Tensor) -> Tensor:
    """You add the pairs up and do not divide.

    Then every step grows with the number of comparisons. The mean over the pairs is asked for.
    """
    return losses.sum()


@exercise.instead_of("average")
def over_answers(losses: Tensor, rewards: Tensor) -> Tensor:
    """You divide by the number of answers, not by the number of pairs.

    An answer may be in many pairs, or in none. Each pair is one observation.
    """
    return losses.sum() / len(rewards)


@exercise.instead_of("average")
def one_for_each_pair(losses: Tensor, rewards: Tensor) -> Tensor:
    """You return a number for each pair.

    A loss is one number: the mean over all pairs.
    """
    return losses


@exercise.misconception
def differences_averaged_first(rewards: Tensor, pairs: Tensor) -> Tensor:
    """You average the differences and take -log σ of their mean.

    Then one pair that is right by far makes up for many that are wrong. Each pair has its own -log σ, and these are
    averaged.
    """
    return -F.logsigmoid(winner_less_loser(rewards, pairs).mean())


@exercise.misconception
def rewards_as_strengths(rewards: Tensor, pairs: Tensor) -> Tensor:
    """You divide the winner's reward by the sum of both, as if rewards were strengths.

    Strengths would have to be above 0. Here a reward is the logarithm of a strength, and may be any number: the share
    becomes σ of the difference.
    """
    winner, loser = rewards[pairs[:, 0]], rewards[pairs[:, 1]]
    return -torch.log(winner / (winner + loser)).mean()
