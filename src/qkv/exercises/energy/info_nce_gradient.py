"""The exercise `info_nce_gradient`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.energy import (
    info_nce_gradient,
)

exercise = Exercise(
    info_nce_gradient,
    section="Push and pull",
    minutes=5,
    difficulty=2,
    why="It says who is pulled, who is pushed and how hard, and what the temperature has to do with it.",
    hints=[
        "The gradient of -log softmax(z)[k] with respect to z is softmax(z) minus a one-hot. At which place?",
        "Here z = scores / temperature. What does the chain rule add?",
        "The loss is a mean over all rows: each row's gradient is divided by their number, all leading dimensions "
        "taken together.",
    ],
)


def scores_and_places(*leading: int, n: int) -> tuple[Tensor, Tensor]:
    return normal(*leading, n, seed="scores"), integers(0, n, *leading, seed="positive")


def some_rows() -> tuple[Any, ...]:
    a, n = distinct(3, 8, 2, seed="sizes")
    return *scores_and_places(a, n=n), number(0.3, 0.8, seed="temperature")


@exercise.probe
def rows_of_scores(info_nce_gradient: Any) -> Seen:
    """several rows of scores"""
    return {"gradient": info_nce_gradient(*some_rows())}


@exercise.probe
def a_single_row(info_nce_gradient: Any) -> Seen:
    """one row, no leading dimension"""
    n = whole(4, 9, seed="n")
    return {"gradient": info_nce_gradient(*scores_and_places(n=n), number(0.3, 0.8, seed="temperature"))}


@exercise.probe
def rows_in_two_dimensions(info_nce_gradient: Any) -> Seen:
    """rows in two leading dimensions, a temperature above 1"""
    a, b, n = distinct(2, 7, 3, seed="sizes")
    return {"gradient": info_nce_gradient(*scores_and_places(a, b, n=n), number(1.5, 3.0, seed="temperature"))}


@exercise.probe
def as_many_rows_as_scores(info_nce_gradient: Any) -> Seen:
    """as many rows as scores, so that a wrong axis still fits"""
    n = whole(4, 8, seed="n")
    return {"gradient": info_nce_gradient(*scores_and_places(n, n=n), number(0.3, 0.8, seed="temperature"))}


@exercise.property
def one_score_alone(info_nce_gradient: Any) -> Seen:
    """rows of a single score

    Where there is one score, its share is 1 whatever it is: the gradient is 0.
    """
    return {"gradient": info_nce_gradient(*scores_and_places(3, n=1), 0.5)}


usual(exercise, some_rows, without=["gradients"])


def softmax_of(scores: Tensor, temperature: float) -> Tensor:
    return (scores / temperature).softmax(-1)


def right_one(scores: Tensor, positive: Tensor) -> Any:
    return F.one_hot(positive, scores.shape[-1])


def by_temperature(temperature: float) -> float:
    return temperature


def all_rows(scores: Tensor, positive: Tensor) -> int:
    return positive.numel()


@exercise.assembled
def gradient_in_steps(
    scores: Tensor,
    positive: Tensor,
    temperature: float,
    *,
    share: Any = softmax_of,
    wanted: Any = right_one,
    chain: Any = by_temperature,
    rows: Any = all_rows,
) -> Tensor:
    return (share(scores, temperature) - wanted(scores, positive)) / (chain(temperature) * rows(scores, positive))


@exercise.instead_of("share")
def temperature_not_inside(scores: Tensor, temperature: float) -> Tensor:
    """You take the softmax of the scores without dividing them by the temperature.

    The temperature stands twice: inside the softmax, and from the chain rule before it.
    """
    return scores.softmax(-1)


@exercise.instead_of("share")
def multiplied_inside(scores: Tensor, temperature: float) -> Tensor:
    """Inside the softmax you multiply by the temperature; you should divide.

    A low temperature makes the softmax sharp.
    """
    return (scores * temperature).softmax(-1)


@exercise.instead_of("share")
def along_the_rows(scores: Tensor, temperature: float) -> Tensor:
    """Your softmax runs along the first dimension.

    Each row shares 1 among its n scores: that is the last dimension.
    """
    return (scores / temperature).softmax(0)


@exercise.instead_of("share")
def each_by_a_sigmoid(scores: Tensor, temperature: float) -> Tensor:
    """You use a sigmoid of each score.

    The scores of a row compete: their shares sum to 1, and the gradient of a row to 0.
    """
    return torch.sigmoid(scores / temperature)


@exercise.instead_of("wanted")
def nothing_wanted(scores: Tensor, positive: Tensor) -> Any:
    """You do not subtract the one-hot.

    Then every score is pushed down, the right one too. Subtract 1 at the place of the positive.
    """
    return torch.zeros_like(scores)


@exercise.instead_of("wanted")
def first_one_wanted(scores: Tensor, positive: Tensor) -> Any:
    """You take the first score for the positive, whatever `positive` says.

    `positive` gives the place, row by row.
    """
    return F.one_hot(torch.zeros_like(positive), scores.shape[-1])


@exercise.misconception
def sign_turned(scores: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """The sign is reversed: one-hot minus softmax.

    That is the direction in which to step. The gradient points to where the loss grows.
    """
    return -info_nce_gradient(scores, positive, temperature)


@exercise.instead_of("chain")
def chain_rule_forgotten(temperature: float) -> float:
    """You do not divide by the temperature outside of the softmax.

    The scores are divided by it before the softmax, so the chain rule brings the factor 1/temperature.
    """
    return 1.0


@exercise.instead_of("chain")
def chain_rule_reversed(temperature: float) -> float:
    """Outside of the softmax you multiply by the temperature; you should divide.

    The derivative of scores / temperature is 1/temperature.
    """
    return 1 / temperature


@exercise.instead_of("chain")
def chain_rule_twice(temperature: float) -> float:
    """You divide by the temperature twice.

    The chain rule brings the factor 1/temperature once.
    """
    return temperature**2


@exercise.instead_of("rows")
def gradient_of_the_sum(scores: Tensor, positive: Tensor) -> int:
    """You do not divide by the number of rows: this is the gradient of the sum.

    The loss is the mean over all rows.
    """
    return 1


@exercise.instead_of("rows")
def first_dimension_counted(scores: Tensor, positive: Tensor) -> int:
    """You divide by the size of the first dimension.

    That is the number of rows only where there is one leading dimension. Count all of them together.
    """
    return len(scores)


@exercise.instead_of("rows")
def every_score_counted(scores: Tensor, positive: Tensor) -> int:
    """You divide by the number of all scores.

    The mean is over rows; within a row nothing is averaged.
    """
    return scores.numel()


squeezes(exercise)
unpacks(exercise, "scores", "batch", "n")
