"""The exercise `scaled_backward`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes
from proctor.inside.inputs import distinct, normal, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.training import (
    scaled_backward,
)

exercise = Exercise(
    scaled_backward,
    section="Loss scaling",
    minutes=15,
    difficulty=2,
    why="Small gradients survive float16, and a step with an overflow is left out.",
    hints=[
        "Multiply the loss, not the gradients: what is 0 already cannot be enlarged.",
        "Where do you divide again? In float16 the number would be lost a second time.",
        "A gradient that is inf or NaN says that the scale was too large: skip the step and halve it.",
    ],
)


def product_loss(weight: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """A loss that passes through every factor in the weight's own precision."""
    for factor in factors:
        weight = weight * factor
    return weight.sum().float()


def outcome(result: Any, parameters: int = 1) -> Seen:
    """What came back, under the same names whether the step was skipped or not: then gradients are empty."""
    grads, scale, good = result
    nothing = [torch.zeros(0)] * parameters
    found = {f"gradient {i}": g for i, g in enumerate(nothing if grads is None else grads)}
    return {"the step is skipped": grads is None, **found, "scale": float(scale), "good steps": good}


def halves(seed: str, std: float) -> Tensor:
    return normal(5, seed=seed, mean=3 * std, std=std, dtype=torch.float16)


@exercise.probe
def small_in_half_precision(scaled_backward: Any) -> Seen:
    """gradients of 1e-8, which float16 cannot hold"""
    weight = halves("w", 1.0).requires_grad_()
    loss = product_loss(weight, [halves("a", 3e-5), halves("b", 3e-5)])
    return outcome(scaled_backward(loss, [weight], 2.0**14))


@exercise.probe
def too_large_a_scale(scaled_backward: Any) -> Seen:
    """scales that overflow float16, in all entries, in one entry of the second parameter, and to NaN"""
    found: Seen = {}
    for case, power in enumerate(distinct(11, 18, 3, seed="powers")):
        fine, weight = halves("fine", 1.0).requires_grad_(), halves("w", 1.0).requires_grad_()
        factor = halves("a", 60.0)
        if case:
            factor = torch.full_like(factor, 2.0**-14)
            factor[3] = 60000.0 if case == 1 else float("nan")
        loss = product_loss(weight, [factor]) + product_loss(fine, [torch.full_like(fine, 2.0**-14)])
        good = whole(1, 9, seed=f"good {case}")
        result = outcome(scaled_backward(loss, [fine, weight], 2.0**power, good_steps=good), parameters=2)
        found |= {f"{name}, case {case}": value for name, value in result.items()}
    return found


@exercise.probe
def in_full_precision(scaled_backward: Any) -> Seen:
    """two float32 parameters and one in float64, a few good steps in"""
    a, b = normal(2, 3, seed="a").requires_grad_(), normal(3, 4, seed="b").requires_grad_()
    c = normal(seed="c", dtype=torch.float64).requires_grad_()
    loss = (a @ b).square().sum() * c.float()
    return outcome(scaled_backward(loss, [a, b, c], 2.0 ** whole(3, 12, seed="power"), whole(2, 9, seed="good")))


@exercise.probe
def the_last_of_an_interval(scaled_backward: Any) -> Seen:
    """the last good step of an interval, of one step too"""
    found: Seen = {}
    for interval in (1, *distinct(5, 30, 2, seed="interval")):
        a = normal(4, seed="a").requires_grad_()
        scale = 2.0 ** whole(2, 9, seed=f"power {interval}")
        result = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=interval - 1, interval=interval))
        found |= {f"{name}, interval {interval}": value for name, value in result.items()}
    return found


@exercise.probe
def one_before_the_last(scaled_backward: Any) -> Seen:
    """the last good step but one of an interval, and the last of the usual 2000"""
    a, interval = normal(4, seed="a").requires_grad_(), whole(5, 30, seed="interval")
    scale = 2.0 ** whole(2, 9, seed="power")
    short = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=interval - 2, interval=interval))
    usual_one = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=1999))
    return {**short, "scale after the usual interval": usual_one["scale"]}


@exercise.probe
def a_whole_run(scaled_backward: Any) -> Seen:
    """good steps in a row, through two intervals"""
    interval, scale, good = whole(3, 7, seed="interval"), 2.0 ** whole(2, 6, seed="power"), 0
    scales, counts = [], []
    for step in range(2 * interval + 2):
        a = normal(2, seed=f"a {step}").requires_grad_()
        _, scale, good = scaled_backward(a.square().sum(), [a], scale, good, interval)
        scales.append(float(scale))
        counts.append(good)
    return {"scales": torch.tensor(scales), "counts": counts}


@exercise.probe
def parameters_with_gradients(scaled_backward: Any) -> Seen:
    """parameters that still carry a gradient, one of them a single number"""
    a, b = normal(seed="a").requires_grad_(), normal(1, 3, seed="b").requires_grad_()
    for parameter in (a, b):
        parameter.grad = torch.full_like(parameter, 1e5)
    return outcome(scaled_backward((a * b).exp().sum(), [a, b], 16.0, good_steps=1))


exercise.property(repeats(small_in_half_precision, too_large_a_scale))


def differentiated(loss: Tensor, parameters: Sequence[Tensor], scale: float) -> list[Tensor]:
    return list(torch.autograd.grad(loss * scale, list(parameters)))


def is_fine(grads: Sequence[Tensor]) -> bool:
    return all(bool(g.isfinite().all()) for g in grads)


def adapted(grads: Any, fine: bool, scale: float, good_steps: int, interval: int) -> Any:
    if not fine:
        return None, scale / 2, 0
    return (grads, scale * 2, 0) if good_steps + 1 == interval else (grads, scale, good_steps + 1)


@exercise.misconception
def divided_in_half_precision(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You divide before you convert to float32.

    In float16 the gradient underflows on the way back after all. First convert, then divide.
    """
    grads = [(g / scale).float() for g in differentiated(loss, parameters, scale)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def left_in_the_dtype_of_the_parameters(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return gradients in the dtype of their parameters; float32 is asked for.

    In float16 a gradient that the scale has saved is lost when it is divided by the scale. First convert, then divide.
    """
    grads = [g / scale for g in differentiated(loss, parameters, scale)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def never_divided_again(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You do not divide by the scale again.

    The gradients are then 65,536 times too large for whatever uses them: clipping, for one.
    """
    grads = [g.float() for g in differentiated(loss, parameters, scale)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def not_scaled(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You scale nothing, so small gradients become 0.

    The loss must be multiplied before the way back.
    """
    grads = [g.float() for g in differentiated(loss, parameters, 1.0)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def gradients_scaled_instead(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You multiply the gradients by the scale instead of the loss.

    What has become 0 on the way back stays 0.
    """
    grads = [g.float() * scale for g in differentiated(loss, parameters, 1.0)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def infinite_gradients_used(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return gradients that are not finite.

    One step with inf or NaN destroys the model. Return None, so that the step is skipped.
    """
    grads = [g.float() / scale for g in differentiated(loss, parameters, scale)]
    _, scale, good_steps = adapted(grads, is_fine(grads), scale, good_steps, interval)
    return grads, scale, good_steps


@exercise.misconception
def never_grows(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """Your scale never grows.

    After one bad step it would stay low for ever, and small gradients be lost again.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval + 10**9)
    return grads, new, good


@exercise.misconception
def count_not_reset(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """After changing the scale you go on counting.

    The count is of good steps since the scale last changed: it starts again at 0.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, new, good_steps + (grads is not None) if new != scale else good


@exercise.misconception
def scale_kept_after_overflow(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """After an overflow you skip the step but keep the scale.

    The next step would overflow again, and the one after it.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, scale if grads is None else new, good


@exercise.misconception
def added_to_what_was_there(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return what is in .grad after `backward`, and that was not empty before.

    `backward` adds to .grad. Clear it first, or ask `torch.autograd.grad` for the gradient itself.
    """
    (loss * scale).backward()
    grads = [p.grad.float() / scale for p in parameters if p.grad is not None]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@exercise.misconception
def doubled_one_step_late(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """Your scale doubles one step too late.

    This step counts too: with it, the count is good_steps + 1.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval + 1)
    return grads, new, good


@exercise.misconception
def only_nan_noticed(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You notice NaN, but not inf.

    What overflows becomes inf first, and NaN only when infinities meet. `isfinite` is false for both.
    """
    grads = [g.float() / scale for g in differentiated(loss, parameters, scale)]
    return adapted(grads, not any(bool(g.isnan().any()) for g in grads), scale, good_steps, interval)


@exercise.misconception
def divided_by_the_new_scale(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You divide by the scale for the next step.

    Where it has just doubled, the gradients come out half as large. Divide by the scale that the loss was multiplied
    by, and change it afterwards.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return None if grads is None else [g * (scale / new) for g in grads], new, good


@exercise.misconception
def count_before_the_scale(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return the count of good steps before the scale.

    The order is: gradients, scale for the next step, count of good steps.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, good, new


squeezes(exercise)
ignores(exercise, "good_steps")
ignores(exercise, "interval")
