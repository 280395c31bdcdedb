"""The exercise `shift_right`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.transformer import shift_right

exercise = Exercise(
    shift_right,
    section="Shifting the target",
    minutes=5,
    difficulty=1,
    why="The decoder is asked for each next word; shifted by one, the answer is not in the question.",
    hints=[
        "The decoder should say 5 6 7. What has it read when it says 5? When it says 7?",
        "One column comes in at the front, one goes out at the end.",
        "The new column has the shape (batch, 1), the dtype of the ids, and bos everywhere.",
    ],
)


def some_targets() -> tuple[Tensor, int]:
    return integers(2, 90, 3, 5, seed="targets"), whole(91, 200, seed="bos")


@exercise.probe
def three_targets(shift_right: Any) -> Seen:
    """three targets of five ids"""
    return {"inputs": shift_right(*some_targets())}


@exercise.probe
def targets_of_size_one(shift_right: Any) -> Seen:
    """targets of one id each, one target, and both"""
    n, *starts = distinct(4, 60, 4, seed="n and bos")
    shapes = [(n, 1), (1, n), (1, 1)]
    return {
        f"inputs of {shape}, bos {bos}": shift_right(integers(0, 90, *shape, seed="targets"), bos)
        for shape, bos in zip(shapes, starts, strict=True)
    }


@exercise.probe
def as_many_targets_as_tokens(shift_right: Any) -> Seen:
    """six targets of six ids, bos = 0"""
    return {"inputs": shift_right(integers(1, 90, 6, 6, seed="targets"), 0)}


usual(
    exercise, some_targets, without=("gradients", "in_float64", "in_float16", "in_bfloat16")
)  # ids: no floating dtype to keep


@exercise.misconception
def not_shifted(targets: Tensor, bos: int) -> Tensor:
    """You replace the first id by bos, and shift nothing.

    The decoder then reads the very token that it should say: the loss falls to 0, and nothing is learned.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets[:, 1:]], 1)


@exercise.misconception
def rotated(targets: Tensor, bos: int) -> Tensor:
    """You rotate: the last id comes in at the front.

    Then the decoder starts by reading the end. bos comes in at the front.
    """
    return targets.roll(1, dims=1)


@exercise.misconception
def shifted_left(targets: Tensor, bos: int) -> Tensor:
    """You shift to the left: each position reads the token after its target.

    That is the future. Each position should read the token before.
    """
    return torch.cat([targets[:, 1:], torch.full_like(targets[:, :1], bos)], 1)


@exercise.misconception
def one_longer(targets: Tensor, bos: int) -> Tensor:
    """You put bos in front, but keep the last id: one column too many.

    Inputs and targets go together, position by position, so they are equally long.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets], 1)


@exercise.misconception
def shifted_across_the_batch(targets: Tensor, bos: int) -> Tensor:
    """You shift along the batch: each sequence reads its neighbour.

    The second dimension is time.
    """
    return torch.cat([torch.full_like(targets[:1], bos), targets[:-1]], 0)


@exercise.misconception
def zero_for_bos(targets: Tensor, bos: int) -> Tensor:
    """You put 0 in front, whatever bos is.

    0 may be padding, or an ordinary token.
    """
    return shift_right(targets, 0)


@exercise.misconception
def start_missing(targets: Tensor, bos: int) -> Tensor:
    """You take the last id off, but put no bos in front: one column too few.

    The decoder has to read something before it says its first word.
    """
    return targets[:, :-1]


@exercise.misconception
def end_kept_instead(targets: Tensor, bos: int) -> Tensor:
    """You put bos in front and leave out the last id but one, so that the last stays.

    The last id is what should be said last; nobody reads it. All others move by one.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets[:, :-2], targets[:, -1:]], 1)[:, : targets.shape[1]]


@exercise.misconception
def shifted_by_two(targets: Tensor, bos: int) -> Tensor:
    """You shift by two: bos stands there twice.

    Perhaps what you shift begins with bos already, or you shift where the data was shifted before. Each position
    should read the token just before its target.
    """
    return shift_right(shift_right(targets, bos), bos)


@exercise.misconception
def ids_as_floats(targets: Tensor, bos: int) -> Tensor:
    """Your ids come back as floating numbers.

    `torch.ones` makes floats unless told otherwise, and `cat` follows them. A table is indexed by int64.
    """
    return shift_right(targets, bos).float()


squeezes(exercise)
