"""The exercise `adam_step`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes
from proctor.inside.inputs import distinct, normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.training import (
    adam_step,
)

exercise = Exercise(
    adam_step,
    section="Adam by hand",
    minutes=15,
    difficulty=2,
    why="Every parameter has a step of its own size; the correction matters in the first steps only.",
    hints=[
        "Update the two running means first; the step uses the new ones.",
        "After one step m is (1 - β₁)·grad, much too small. By what must it be divided to give grad back?",
        "What is corrected is used for the step only; m and v are returned as they are kept.",
    ],
)


def adam_arguments(step: int = 3) -> tuple[Any, ...]:
    p, grad, m = (normal(3, 4, seed=name) for name in ("p", "grad", "m"))
    return p, grad, m, normal(3, 4, seed="v").square() + 0.1, step, 0.1


def three(result: Any) -> Seen:
    p, m, v = result
    return {"p": p, "m": m, "v": v}


@exercise.probe
def third_step(adam_step: Any) -> Seen:
    """the third step on 3 × 4 parameters"""
    return three(adam_step(*adam_arguments()))


@exercise.probe
def first_step(adam_step: Any) -> Seen:
    """the first step, from m = v = 0"""
    p, grad = normal(5, seed="p"), normal(5, seed="grad")
    return three(adam_step(p, grad, torch.zeros(5), torch.zeros(5), 1, 0.01))


@exercise.probe
def other_constants(adam_step: Any) -> Seen:
    """other β₁ and β₂, and an eps that decides"""
    return three(adam_step(*adam_arguments(7), beta1=0.5, beta2=0.75, eps=0.3))


@exercise.probe
def five_steps(adam_step: Any) -> Seen:
    """five steps in a row"""
    p, m, v = normal(4, seed="p"), torch.zeros(4), torch.zeros(4)
    for step in range(1, 6):
        p, m, v = adam_step(p, normal(4, seed=f"grad {step}"), m, v, step, 0.05)
    return {"p": p, "m": m, "v": v}


@exercise.probe
def tiny_gradients(adam_step: Any) -> Seen:
    """gradients of 1e-9, where eps decides"""
    grad = normal(6, seed="grad", std=1e-9)
    return three(adam_step(torch.zeros(6), grad, torch.zeros(6), torch.zeros(6), 1, 1.0))


@exercise.probe
def of_size_one(adam_step: Any) -> Seen:
    """single parameters, without and with dimensions, far into a run and at a rate of their own"""
    found: Seen = {}
    shapes: list[tuple[int, ...]] = [(), (1,), (1, 5), (5, 1)]
    for shape, step in zip(shapes, distinct(2, 5000, 4, seed="steps"), strict=True):
        p, grad, m, v = (normal(*shape, seed=name) for name in ("p", "grad", "m", "v"))
        result = three(adam_step(p, grad, m, v.square() + 0.1, step, number(0.01, 0.9, seed=f"rate {step}")))
        found |= {f"{name}, shape {shape}": value for name, value in result.items()}
    return found


usual(exercise, adam_arguments, without=("gradients",))


def corrected(kept: Tensor, beta: float, step: int) -> Tensor:
    return kept / (1 - beta**step)


def divisor(square: Tensor, eps: float) -> Tensor:
    return square.sqrt() + eps


@exercise.assembled
def adam_in_steps(
    p: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.98,
    eps: float = 1e-9,
    *,
    correct: Any = corrected,
    divide_by: Any = divisor,
    move: Any = lambda p, change: p - change,
) -> tuple[Tensor, Tensor, Tensor]:
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.square()
    return move(p, rate * correct(m, beta1, step) / divide_by(correct(v, beta2, step), eps)), m, v


@exercise.instead_of("correct")
def not_corrected(kept: Tensor, beta: float, step: int) -> Tensor:
    """You do not correct the running means.

    They start at 0 and are too small at first, and v, with the longer memory, stays so for longer: after the first few
    steps the step is up to 1.5 times too large (for β₂ = 0.98; six times for 0.999).
    """
    return kept


@exercise.instead_of("correct")
def corrected_for_the_step_before(kept: Tensor, beta: float, step: int) -> Tensor:
    """You correct as if steps were counted from 0.

    Here the first step is 1, and 1 - β¹ is what it needs.
    """
    return kept / (1 - beta ** (step + 1))


@exercise.instead_of("divide_by")
def eps_under_the_root(square: Tensor, eps: float) -> Tensor:
    """You add eps under the root.

    Under it eps acts like √eps, thirty thousand times as much for 1e-9. Adam adds it after the root.
    """
    return (square + eps).sqrt()


@exercise.instead_of("divide_by")
def root_forgotten(square: Tensor, eps: float) -> Tensor:
    """You divide by the running mean of the squares; the root is missing.

    With the root, the step does not depend on the gradient's scale. Without it, small gradients make huge steps.
    """
    return square + eps


@exercise.instead_of("divide_by")
def eps_forgotten(square: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    A parameter whose gradient has always been 0 is then divided by 0: an embedding of a rare word, say.
    """
    return square.sqrt()


@exercise.instead_of("move")
def uphill(p: Tensor, change: Tensor) -> Tensor:
    """You add the step instead of subtracting it.

    The gradient points to where the loss grows.
    """
    return p + change


@exercise.misconception
def corrected_means_kept(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You return the corrected means.

    The next step would correct them again. Keep them as they are; the correction is for this step only.
    """
    p, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p, corrected(m, beta1, step), corrected(v, beta2, step)


@exercise.misconception
def betas_exchanged(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You exchange β₁ and β₂.

    β₁ belongs to the mean of the gradient, β₂, the longer memory, to the mean of its square.
    """
    return adam_step(p, grad, m, v, step, rate, beta2, beta1, eps)


@exercise.misconception
def gradient_instead_of_mean(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You step along the gradient of this batch; the running mean m is kept but not used.

    That is RMSProp. Adam steps along the mean, which forgets the noise of single batches.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * grad / divisor(corrected(v, beta2, step), eps), m, v


@exercise.misconception
def gradient_not_squared(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your v averages the size of the gradient, not its square.

    Then √v is no measure of the gradient's size: a gradient ten times as large would still change the step.
    """
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.abs()
    return p - rate * corrected(m, beta1, step) / divisor(corrected(v, beta2, step), eps), m, v


@exercise.misconception
def eps_before_the_correction(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You add eps to the root of v as it is kept, and correct afterwards, through the rate.

    TensorFlow does so; the paper calls this eps "ε hat". In the first steps it acts like a larger eps. Here it is added
    to the root of the corrected v.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    rate = rate * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    return p - rate * m / (v.sqrt() + eps), m, v


@exercise.misconception
def eps_subtracted_at_the_end(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your eps is added to the whole step, not to the root.

    Division binds more tightly than addition: without parentheses eps is no part of the divisor.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - (rate * corrected(m, beta1, step) / corrected(v, beta2, step).sqrt() + eps), m, v


@exercise.misconception
def eps_added_at_the_end(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your eps is added to the new parameters, not to the root.

    Division binds more tightly than addition: without parentheses eps is no part of the divisor.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / corrected(v, beta2, step).sqrt() + eps, m, v


@exercise.misconception
def second_moment_not_corrected(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You correct m, but not v.

    Both begin at 0. With v too small, the first steps are too large: seven times at the very first.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / divisor(v, eps), m, v


@exercise.misconception
def means_of_the_step_before(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You step with the running means as they were before this gradient.

    Update them first: the step uses the new ones, and the first step would otherwise go nowhere.
    """
    _, new_m, new_v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / divisor(corrected(v, beta2, step), eps), new_m, new_v


squeezes(exercise)
ignores(exercise, "beta1")
ignores(exercise, "beta2")
ignores(exercise, "eps")
