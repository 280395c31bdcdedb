"""The exercise `gradient_by_distance`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.recurrence.shared import recurrent
from qkv.model.recurrence import (
    gradient_by_distance,
)

exercise = Exercise(
    gradient_by_distance,
    section="How far a gradient reaches",
    minutes=15,
    difficulty=2,
    why="It measures how far back a model can learn, instead of asserting it.",
    hints=[
        "One step back: what is the Jacobian of tanh(… + h @ w_h) with respect to h? The slope of tanh is 1 - tanh².",
        "Several steps back: multiply the Jacobians. Which state's slope belongs to which step?",
        "Start with the identity at the last state (its norm is √d) and walk backwards, one factor at a time.",
    ],
)


def run_of_states(w_h: Tensor, steps: int) -> Tensor:
    h, states = torch.zeros_like(w_h[0]), []
    for t in range(steps):
        h = torch.tanh(normal(len(h), seed=f"input {t}", dtype=w_h.dtype) + h @ w_h)
        states.append(h)
    return torch.stack(states)


def six_states() -> tuple[Tensor, Tensor]:
    w_h = recurrent(4)
    return w_h, run_of_states(w_h, 6)


@exercise.probe
def six_steps(gradient_by_distance: Any) -> Seen:
    """six states of width four"""
    return {"norms": gradient_by_distance(*six_states())}


@exercise.probe
def as_many_steps_as_components(gradient_by_distance: Any) -> Seen:
    """five states of width five, with strong recurrent weights"""
    w_h = recurrent(5, std=2.0)
    return {"norms": gradient_by_distance(w_h, run_of_states(w_h, 5))}


@exercise.probe
def few_states(gradient_by_distance: Any) -> Seen:
    """one state and two states, of two widths"""
    found: Seen = {}
    for steps, d in enumerate(distinct(3, 10, 2, seed="widths"), start=1):
        w_h = recurrent(d)
        found[f"norms of {steps}, width {d}"] = gradient_by_distance(w_h, run_of_states(w_h, steps))
    return found


@exercise.probe
def states_of_width_one(gradient_by_distance: Any) -> Seen:
    """states of width 1"""
    w_h = recurrent(1)
    return {f"norms of {n}": gradient_by_distance(w_h.clone(), run_of_states(w_h, n)) for n in (2, 5)}


def as_many_states_as_components() -> tuple[Tensor, Tensor]:
    w_h = recurrent(4)
    return w_h, run_of_states(w_h, 4)


usual(exercise, six_states, alike=as_many_states_as_components)


def walked(w_h: Tensor, states: Tensor, slopes: Any, factor: Any, size: Any) -> Tensor:
    """The walk backwards with exchangeable parts."""
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = [size(jacobian)]
    for slope in slopes(states):
        jacobian = jacobian @ factor(slope, w_h)
        found.append(size(jacobian))
    return torch.stack(found).flip(0)


def slopes_of_the_later(states: Tensor) -> Tensor:
    return 1 - states[1:].flip(0).square()


def step_back(slope: Tensor, w_h: Tensor) -> Tensor:
    return slope.unsqueeze(-1) * w_h.T


def frobenius(jacobian: Tensor) -> Tensor:
    return jacobian.norm()


@exercise.assembled
def walked_in_steps(
    w_h: Tensor,
    states: Tensor,
    *,
    slopes: Any = slopes_of_the_later,
    factor: Any = step_back,
    size: Any = frobenius,
) -> Tensor:
    return walked(w_h, states, slopes, factor, size)


@exercise.instead_of("slopes")
def slopes_of_the_earlier(states: Tensor) -> Tensor:
    """You take the slope of the tanh at the earlier state of each step.

    The step from t-1 to t ends in states[t]: that is where its tanh was evaluated.
    """
    return 1 - states[:-1].flip(0).square()


@exercise.instead_of("slopes")
def slopes_forgotten(states: Tensor) -> Tensor:
    """You leave the tanh's slope out and multiply the weights alone.

    Every step also passes through a tanh, whose slope is below 1: that is half of why gradients vanish.
    """
    return torch.ones_like(states[1:])


@exercise.instead_of("slopes")
def slope_not_squared(states: Tensor) -> Tensor:
    """You take 1 - h for the slope of the tanh.

    The derivative of tanh is 1 - tanh².
    """
    return 1 - states[1:].flip(0)


@exercise.instead_of("factor")
def weights_not_turned(slope: Tensor, w_h: Tensor) -> Tensor:
    """Your weights are not turned.

    In h @ w_h, component i of the old state reaches component j of the new one by w_h[i, j]; in the Jacobian (new,
    old) that stands at [j, i].
    """
    return slope.unsqueeze(-1) * w_h


@exercise.instead_of("factor")
def slope_on_the_wrong_side(slope: Tensor, w_h: Tensor) -> Tensor:
    """You multiply the slope onto the wrong side of the weights.

    The tanh comes after the weights, so its slope scales the rows of the new state, not the columns of the old.
    """
    return w_h.T * slope


@exercise.instead_of("size")
def largest_singular_value(jacobian: Tensor) -> Tensor:
    """You give the largest singular value.

    It is a norm too, but the Frobenius norm is asked for: the root of the sum of all squares.
    """
    return torch.linalg.matrix_norm(jacobian, 2)


@exercise.instead_of("size")
def squared_norm(jacobian: Tensor) -> Tensor:
    """You give the square of the norm; the root is missing.

    For the last state it should be √d, the norm of the identity.
    """
    return jacobian.square().sum()


@exercise.misconception
def factors_in_the_wrong_order(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply the steps in the wrong order.

    The last step acts last, so it stands on the far left; what comes earlier in time stands further right.
    """
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = [frobenius(jacobian)]
    for slope in slopes_of_the_later(states):
        jacobian = step_back(slope, w_h) @ jacobian
        found.append(frobenius(jacobian))
    return torch.stack(found).flip(0)


@exercise.misconception
def in_reverse(w_h: Tensor, states: Tensor) -> Tensor:
    """Your result runs backwards: its first entry belongs to the last state.

    Entry t belongs to state t, so √d comes last.
    """
    return gradient_by_distance(w_h, states).flip(0)


@exercise.misconception
def one_factor_too_many(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply one step too many into every entry: the last is already the norm of a whole step.

    Entry t is about d states[-1]/d states[t]. For the last state that is the identity, whose norm is √d.
    """
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = []
    for slope in 1 - states.flip(0).square():
        jacobian = jacobian @ step_back(slope, w_h)
        found.append(frobenius(jacobian))
    return torch.stack(found).flip(0)


@exercise.misconception
def norms_multiplied(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply the norms of the steps.

    The norm of a product is at most the product of the norms, and mostly far below. Multiply the matrices, then take
    the norm.
    """
    size = frobenius(torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device))
    found = [size]
    for slope in slopes_of_the_later(states):
        size = size * frobenius(step_back(slope, w_h))
        found.append(size)
    return torch.stack(found).flip(0)


squeezes(exercise)
