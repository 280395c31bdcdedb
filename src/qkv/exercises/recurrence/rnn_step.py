"""The exercise `rnn_step`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import RECURRENT
from qkv.exercises.recurrence.shared import recurrent, sizes_with_ones
from qkv.model.recurrence import (
    rnn_step,
)

exercise = Exercise(
    rnn_step,
    section="One step of an RNN",
    minutes=10,
    difficulty=1,
    why="One vector has to carry all that was read: that is the bottleneck which attention removed.",
    hints=[
        "Write the shapes: x (..., d_in), w_x (d_in, d), h (..., d), w_h (d, d). Which products give (..., d)?",
        "Input and memory are added before they are squashed, the bias with them.",
        "One tanh, around everything.",
    ],
    forbid=[RECURRENT],
)


def rnn_arguments() -> tuple[Tensor, ...]:
    shapes = {"x": (2, 3), "h": (2, 5), "w_x": (3, 5), "w_h": (5, 5), "b": (5,)}
    return tuple(normal(*shape, seed=name, std=0.6) for name, shape in shapes.items())


@exercise.probe
def a_batch_of_two(rnn_step: Any) -> Seen:
    """a batch of two, three inputs, a state of five"""
    return {"h": rnn_step(*rnn_arguments())}


@exercise.probe
def a_single_one(rnn_step: Any) -> Seen:
    """one input and one state of the same width, without a batch"""
    shapes = {"x": (4,), "h": (4,), "w_x": (4, 4), "w_h": (4, 4), "b": (4,)}
    return {"h": rnn_step(*(normal(*shape, seed=name, std=0.6) for name, shape in shapes.items()))}


@exercise.probe
def three_steps(rnn_step: Any) -> Seen:
    """three steps in a row"""
    _, h, w_x, w_h, b = rnn_arguments()
    for t in range(3):
        h = rnn_step(normal(2, 3, seed=t), h, w_x, w_h, b)
    return {"h": h}


@exercise.probe
def widths_of_one(rnn_step: Any) -> Seen:
    """sizes of 1, and two batch dimensions"""
    found: Seen = {}
    for leading, d_in, d in sizes_with_ones("rnn"):
        shapes = {"x": (*leading, d_in), "h": (*leading, d), "w_x": (d_in, d), "w_h": (d, d), "b": (d,)}
        arguments = [normal(*shape, seed=name, std=0.6) for name, shape in shapes.items()]
        found[f"h, x {shapes['x']}, state {d}"] = rnn_step(*arguments)
    return found


def rnn_arguments_of_one_shape() -> tuple[Tensor, ...]:
    return *(normal(4, seed=name) for name in ("x", "h")), recurrent(4), recurrent(4), normal(4, seed="b")


usual(exercise, rnn_arguments, alike=rnn_arguments_of_one_shape)


@exercise.assembled
def rnn_in_steps(
    x: Tensor,
    h: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
    *,
    recall: Any = lambda h, w_h: h @ w_h,
    offset: Any = lambda b: b,
    squash: Any = torch.tanh,
) -> Tensor:
    return squash(x @ w_x + recall(h, w_h) + offset(b))


@exercise.instead_of("squash")
def not_squashed(total: Tensor) -> Tensor:
    """You leave the tanh out.

    Then the state is multiplied by w_h again and again and can grow without bound.
    """
    return total


@exercise.instead_of("squash")
def squashed_by_a_sigmoid(total: Tensor) -> Tensor:
    """You squash with a sigmoid.

    It maps to 0 … 1, so the state could never be negative; and its slope is at most 1/4, so gradients vanish faster
    still.
    """
    return torch.sigmoid(total)


@exercise.instead_of("recall")
def weights_turned(h: Tensor, w_h: Tensor) -> Tensor:
    """You multiply the state by w_h turned.

    Column j of w_h makes component j of the new state: h @ w_h.
    """
    return h @ w_h.T


@exercise.instead_of("recall")
def nothing_remembered(h: Tensor, w_h: Tensor) -> Tensor:
    """You do not use the state.

    Without h there is no recurrence: each step would forget everything before it.
    """
    return torch.zeros_like(h)


@exercise.instead_of("recall")
def remembered_unchanged(h: Tensor, w_h: Tensor) -> Tensor:
    """You add the state as it is, without w_h.

    How the past is mixed into the present is what w_h learns.
    """
    return h


@exercise.instead_of("offset")
def bias_forgotten(b: Tensor) -> Tensor:
    """You leave the bias out.

    Without it a component cannot lean to one side when input and state are 0.
    """
    return torch.zeros_like(b)


@exercise.misconception
def squashed_apart(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You squash input and memory separately and then add.

    The sum can then leave the range -1 … 1. Add first, squash once.
    """
    return torch.tanh(x @ w_x + b) + torch.tanh(h @ w_h)


@exercise.misconception
def bias_twice(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You add the bias twice.

    torch keeps two of them, one with the input and one with the state. Here there is one, and it is added once.
    """
    return rnn_step(x, h, w_x, w_h, 2 * b)


@exercise.misconception
def rectified(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You squash with ReLU.

    It does not bound the state from above, and a component below 0 says nothing any more. tanh keeps both signs.
    """
    return (x @ w_x + h @ w_h + b).clamp(min=0)


@exercise.misconception
def one_batch_only(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """Your code takes x apart as (batch, d_in), so it works only with exactly one batch dimension.

    `...` may be none, one or several. `@` works for all of them; only the last dimension has to be known.
    """
    _, _ = x.shape
    return rnn_step(x, h, w_x, w_h, b)


@exercise.misconception
def matrices_only(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """Your product takes matrices only (`torch.mm`), so it works only with exactly one batch dimension.

    `...` may be none, one or several. `@` works for all of them.
    """
    return torch.tanh(torch.mm(x, w_x) + torch.mm(h, w_h) + b)


squeezes(exercise)
