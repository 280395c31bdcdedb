"""The exercise `clip_gradients`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.training import (
    clip_gradients,
)

exercise = Exercise(
    clip_gradients,
    section="Clipping",
    minutes=10,
    difficulty=2,
    why="It bounds the step that one bad batch can cause, and the direction stays what it was.",
    hints=[
        "All gradients together are one long vector. What is its length?",
        "If it is short enough nothing happens; else every gradient is multiplied by the same number. Which?",
        "All-zero gradients have the length 0: do not divide by it.",
    ],
    equivalents={
        "factor = max_norm / norm if norm > max_norm else 1.0"
        "  ->  factor = max_norm / norm if norm >= max_norm else 1.0": "where they are equal the factor is 1 both ways",
    },
)


def three_gradients(std: float = 1.0) -> list[Tensor]:
    return [normal(*shape, seed=i, std=std) for i, shape in enumerate([(3, 4), (5,), (2, 2, 2)])]


def clipped(clip: Any, grads: list[Tensor], max_norm: float) -> Seen:
    result, norm = clip(grads, max_norm)
    return {**{f"gradient {i}": g for i, g in enumerate(result)}, "norm": norm, "count": len(result)}


@exercise.probe
def too_long(clip_gradients: Any) -> Seen:
    """three gradients, longer than allowed"""
    return clipped(clip_gradients, three_gradients(), 1.0)


@exercise.probe
def short_enough(clip_gradients: Any) -> Seen:
    """three gradients, shorter than allowed"""
    return clipped(clip_gradients, three_gradients(), 100.0)


@exercise.probe
def all_zero(clip_gradients: Any) -> Seen:
    """gradients that are all zero, and gradients of which one is"""
    nothing = clipped(clip_gradients, [torch.zeros(3), torch.zeros(2, 2)], 1.0)
    found = clipped(clip_gradients, [torch.zeros(3), normal(2, 2, seed="some")], 0.5)
    return {**{f"{name} of zeros": value for name, value in nothing.items()}, **found}


@exercise.probe
def single_numbers(clip_gradients: Any) -> Seen:
    """gradients of single numbers, with and without dimensions, and one gradient alone"""
    limit = number(0.2, 0.6, seed="limit")
    several = [normal(seed="a", mean=2.0), normal(1, seed="b"), normal(1, 3, seed="c"), normal(3, 1, seed="d")]
    alone = clipped(clip_gradients, [normal(4, seed="alone", std=3.0)], limit)
    return {**clipped(clip_gradients, several, limit), **{f"{n} alone": value for n, value in alone.items()}}


@exercise.probe
def about_the_limit(clip_gradients: Any) -> Seen:
    """a limit just above and just below the length"""
    norm = float(torch.cat([g.flatten() for g in three_gradients()]).norm())
    above, below = (clipped(clip_gradients, three_gradients(), norm * factor) for factor in (1.01, 0.99))
    return {**above, **{f"{name} below": value for name, value in below.items()}}


@exercise.probe
def very_small(clip_gradients: Any) -> Seen:
    """very small gradients, and a smaller limit"""
    return clipped(clip_gradients, three_gradients(std=1e-5), 1e-5)


@exercise.probe
def one_long_among_short(clip_gradients: Any) -> Seen:
    """one long gradient among short ones"""
    return clipped(clip_gradients, [normal(4, seed=0, std=10.0), normal(3, seed=1, std=0.1)], 2.0)


def gradients_and_a_limit() -> tuple[list[Tensor], float]:
    return three_gradients(), 0.5


usual(exercise, gradients_and_a_limit, without=("gradients",))


def length(grads: Sequence[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in grads]).norm()


def shortened(grads: Sequence[Tensor], norm: Tensor, max_norm: float) -> list[Tensor]:
    return [g * (max_norm / norm) if norm > max_norm else g.clone() for g in grads]


@exercise.assembled
def clipped_in_steps(
    grads: Sequence[Tensor],
    max_norm: float,
    *,
    shorten: Any = shortened,
    report: Any = length,
) -> Any:
    return shorten(grads, length(grads), max_norm), report(grads)


@exercise.instead_of("shorten")
def each_by_itself(grads: Sequence[Tensor], norm: Tensor, max_norm: float) -> list[Tensor]:
    """You clip each gradient by its own length.

    That turns the whole gradient: long parts are shortened, short ones are not. One factor for all keeps its direction.
    """
    return [clip_gradients([g], max_norm)[0][0] for g in grads]


@exercise.instead_of("report")
def length_of_the_last(grads: Sequence[Tensor]) -> Tensor:
    """You return the length of the last gradient alone.

    The length that is asked for is that of all gradients together, as one long vector.
    """
    return grads[-1].norm()


@exercise.instead_of("report")
def length_of_the_longest(grads: Sequence[Tensor]) -> Tensor:
    """You return the length of the longest gradient.

    The length that is asked for is that of all gradients together, as one long vector.
    """
    return torch.stack([g.norm() for g in grads]).max()


@exercise.instead_of("report")
def sum_of_the_lengths(grads: Sequence[Tensor]) -> Tensor:
    """You return the sum of the lengths of the gradients.

    Lengths of parts add up as squares: the root of the sum of all squares is the length of the whole.
    """
    return torch.stack([g.norm() for g in grads]).sum()


@exercise.instead_of("report")
def square_returned(grads: Sequence[Tensor]) -> Tensor:
    """You return the square of the length; the root is missing.

    It is compared with max_norm, which is a length.
    """
    return length(grads).square()


@exercise.misconception
def entries_cut_off(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You cut every entry off at ±max_norm.

    That limits entries, not the length, and turns the gradient. (torch has it too, as clip_grad_value_.)
    """
    return [g.clamp(-max_norm, max_norm) for g in grads], length(grads)


@exercise.misconception
def always_scaled(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You scale short gradients up to max_norm as well.

    Clipping only shortens. Near a minimum gradients should be allowed to become small.
    """
    norm = length(grads)
    return [g * (max_norm / norm) if norm > 0 else g.clone() for g in grads], norm


@exercise.misconception
def norm_after_clipping(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You return the length after clipping.

    The length before is what tells you that something is wrong; afterwards it is at most max_norm anyway.
    """
    result, _ = clip_gradients(grads, max_norm)
    return result, length(result)


@exercise.misconception
def zero_divided_by_zero(grads: Sequence[Tensor], max_norm: float) -> Any:
    """All-zero gradients become NaN.

    Their length is 0, max_norm/0 is inf, and 0·inf is NaN. Gradients that are short enough need no factor.
    """
    norm = length(grads)
    return [g * (max_norm / norm) if norm > max_norm or norm == 0 else g.clone() for g in grads], norm


@exercise.misconception
def epsilon_added(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You add a small number to the length before dividing, as torch does.

    For very small gradients it is no longer small. Here the factor is exactly max_norm/norm.
    """
    norm = length(grads)
    return [g * torch.clamp(max_norm / (norm + 1e-6), max=1.0) for g in grads], norm


@exercise.misconception
def lengths_added(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You add the lengths of the gradients.

    Lengths of parts add up as squares: the root of the sum of all squares is the length of the whole.
    """
    norm = torch.stack([g.norm() for g in grads]).sum()
    return [g * min(1.0, max_norm / float(norm)) if norm > 0 else g.clone() for g in grads], norm


squeezes(exercise)
