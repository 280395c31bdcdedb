"""The exercise `lstm_step`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import RECURRENT
from qkv.exercises.recurrence.shared import sizes_with_ones
from qkv.model.recurrence import (
    lstm_step,
)

exercise = Exercise(
    lstm_step,
    section="One step of an LSTM",
    minutes=15,
    difficulty=2,
    why="Gates and a sum instead of a product: why gradients last longer here.",
    hints=[
        "One matrix product gives all four gates at once: 4·d columns, in the order i, f, g, o.",
        "Gates say how much, so they lie between 0 and 1. The candidate g says what, so it may be negative.",
        "New cell: what is kept of the old one plus what is written. Shown: the output gate times the squashed cell.",
    ],
    forbid=[RECURRENT],
)


def lstm_arguments() -> tuple[Tensor, ...]:
    shapes = {"x": (2, 3), "h": (2, 5), "c": (2, 5), "w_x": (3, 20), "w_h": (5, 20), "b": (20,)}
    return tuple(normal(*shape, seed=name, std=0.7) for name, shape in shapes.items())


@exercise.probe
def two_cells(lstm_step: Any) -> Seen:
    """a batch of two, three inputs, a cell of five"""
    h, c = lstm_step(*lstm_arguments())
    return {"h": h, "c": c}


@exercise.probe
def one_cell(lstm_step: Any) -> Seen:
    """without a batch"""
    shapes = {"x": (3,), "h": (2,), "c": (2,), "w_x": (3, 8), "w_h": (2, 8), "b": (8,)}
    h, c = lstm_step(*(normal(*shape, seed=name) for name, shape in shapes.items()))
    return {"h": h, "c": c}


@exercise.probe
def four_steps(lstm_step: Any) -> Seen:
    """four steps in a row"""
    _, h, c, w_x, w_h, b = lstm_arguments()
    for t in range(4):
        h, c = lstm_step(normal(2, 3, seed=t), h, c, w_x, w_h, b)
    return {"h": h, "c": c}


@exercise.probe
def cells_of_width_one(lstm_step: Any) -> Seen:
    """sizes of 1, and two batch dimensions"""
    found: Seen = {}
    for leading, d_in, d in sizes_with_ones("lstm"):
        shapes = {
            "x": (*leading, d_in), "h": (*leading, d), "c": (*leading, d),
            "w_x": (d_in, 4 * d), "w_h": (d, 4 * d), "b": (4 * d,),
        }  # fmt: skip
        h, c = lstm_step(*(normal(*shape, seed=name) for name, shape in shapes.items()))
        found |= {f"h, x {shapes['x']}, cell {d}": h, f"c, x {shapes['x']}, cell {d}": c}
    return found


def lstm_arguments_of_one_shape() -> tuple[Tensor, ...]:
    shapes = {"x": (3,), "h": (3,), "c": (3,), "w_x": (3, 12), "w_h": (3, 12), "b": (12,)}
    return tuple(normal(*shape, seed=name) for name, shape in shapes.items())


usual(exercise, lstm_arguments, alike=lstm_arguments_of_one_shape)


def parted(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    return (x @ w_x + h @ w_h + b).chunk(4, -1)


def remember(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)


def show(c: Tensor, o: Tensor) -> Tensor:
    return torch.sigmoid(o) * torch.tanh(c)


@exercise.assembled
def lstm_in_steps(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
    *,
    part: Any = parted,
    forget: Any = lambda f: f,
    update: Any = remember,
    output: Any = show,
) -> tuple[Tensor, Tensor]:
    i, f, g, o = part(x, h, w_x, w_h, b)
    c = update(c, i, forget(f), g)
    return output(c, o), c


@exercise.instead_of("part")
def output_before_candidate(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You read the columns in the order i, f, o, g.

    The order is a convention, but it must be the same everywhere: i, f, g, o here and in torch.
    """
    i, f, o, g = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@exercise.instead_of("part")
def forget_before_input(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You exchange input gate and forget gate.

    The first quarter of the columns is the input gate, the second the forget gate.
    """
    f, i, g, o = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@exercise.instead_of("part")
def candidate_before_forget(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You read the columns in the order i, g, f, o.

    TensorFlow's old cells have it so (they write i, j, f, o). Here and in torch it is i, f, g, o.
    """
    i, g, f, o = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@exercise.instead_of("part")
def every_fourth_column(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You take every fourth column for a gate.

    The columns of one gate stand together: first d of the input gate, then d of the forget gate, and so on.
    """
    return (x @ w_x + h @ w_h + b).unflatten(-1, (-1, 4)).unbind(-1)


@exercise.instead_of("forget")
def forget_bias_added(f: Tensor) -> Tensor:
    """You add 1 to the forget gate.

    A useful start for training, but it belongs into the initial bias; the step adds nothing.
    """
    return f + 1


@exercise.instead_of("part")
def bias_left_out(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You leave the bias out.

    It sets what the gates do when nothing special comes in; a forget gate that starts open needs it.
    """
    return parted(x, h, w_x, w_h, torch.zeros_like(b))


@exercise.instead_of("update")
def what_is_not_kept_is_written(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You write what the forget gate does not keep; the input gate is not used.

    One gate for both is a GRU's way. Here keeping and writing are two decisions.
    """
    return torch.sigmoid(f) * c + (1 - torch.sigmoid(f)) * torch.tanh(g)


@exercise.instead_of("update")
def candidate_not_squashed(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You write the candidate without its tanh.

    Then a single step can write a number of any size into the cell.
    """
    return torch.sigmoid(f) * c + torch.sigmoid(i) * g


@exercise.instead_of("update")
def candidate_as_a_gate(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You squash the candidate with a sigmoid, as if it were a gate.

    The cell could then only ever grow. The candidate is a content, and may be negative.
    """
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.sigmoid(g)


@exercise.instead_of("update")
def nothing_forgotten(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You keep the whole old cell; the forget gate is not used.

    The cell then adds up everything it ever read.
    """
    return c + torch.sigmoid(i) * torch.tanh(g)


@exercise.instead_of("output")
def cell_shown_unsquashed(c: Tensor, o: Tensor) -> Tensor:
    """You show the cell without its tanh.

    The cell may have grown large; what is shown should stay between -1 and 1.
    """
    return torch.sigmoid(o) * c


@exercise.instead_of("output")
def output_not_gated(c: Tensor, o: Tensor) -> Tensor:
    """You show the whole cell; the output gate is not used.

    Some memory is for later: the output gate keeps it from disturbing now.
    """
    return torch.tanh(c)


@exercise.misconception
def old_cell_shown(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You show the old cell instead of the new one.

    What was just written should be visible at once: h is made from the new c.
    """
    i, f, g, o = parted(x, h, w_x, w_h, b)
    return show(c, o), remember(c, i, f, g)


@exercise.misconception
def cell_and_output_exchanged(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You return (c, h) instead of (h, c).

    First what is shown, then the memory: otherwise the next step reads its memory as its output.
    """
    h, c = lstm_step(x, h, c, w_x, w_h, b)
    return c, h


@exercise.misconception
def one_batch_of_cells_only(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You part the columns along dimension 1, which is the last one only with exactly one batch dimension.

    `...` may be none, one or several dimensions. The columns are always in the last: -1.
    """
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=1)
    c = remember(c, i, f, g)
    return show(c, o), c


squeezes(exercise)
unpacks(exercise, "x", "batch", "d_in")
