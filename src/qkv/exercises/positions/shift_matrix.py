"""The exercise `shift_matrix`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import follows_default_dtype, repeats
from proctor.inside.situations import Seen
from qkv.exercises.positions.shared import COARSER, drawn_base, even, in_float64_by_default, one_per_pair
from qkv.exercises.positions.sinusoidal_positions import (
    doubled_again,
    exponent_half_as_large,
    frequencies_that_rise,
    whole_turns,
)
from qkv.model.positions import (
    shift_matrix,
)

exercise = Exercise(
    shift_matrix,
    section="One matrix moves every clock",
    minutes=15,
    difficulty=3,
    why="A step along the sequence is a rotation: so a distance can be read off by a linear layer.",
    hints=[
        "Let d_model be 2: position t has the code (sin t, cos t). Which addition theorems give sin(t+k) and cos(t+k)?",
        "Read the two lines as a 2 × 2 matrix times (sin t, cos t). Where does the minus stand?",
        "Every pair has its own 2 × 2 block on the diagonal, with its own frequency. Everything else is 0.",
    ],
    equivalents={
        "column = torch.arange(0, d_model, 2, dtype=torch.float64)  ->  column = torch.arange(0, d_model, 2)": COARSER,
        "turns = torch.stack([cos, sin, -sin, cos], dim=-1).view(-1, 2, 2)  ->  "
        "turns = torch.stack([cos, sin, -sin, cos], dim=1).view(-1, 2, 2)": "of two dimensions 1 is the last",
    },
)


@exercise.probe
def on_in_two_widths(shift_matrix: Any) -> Seen:
    """a few steps ahead, in two widths"""
    (k, further), (width, wider) = distinct(2, 20, 2, seed="on"), even(4, 16, 2, seed="widths")
    return {"matrix": shift_matrix(k, width), "matrix of another width": shift_matrix(further, wider)}


@exercise.probe
def no_step_and_one_step(shift_matrix: Any) -> Seen:
    """k = 0 and k = 1, in two widths"""
    width, wider = even(2, 16, 2, seed="none")
    return {"matrix for 0": shift_matrix(0, width), "matrix for 1": shift_matrix(1, wider)}


@exercise.probe
def backwards(shift_matrix: Any) -> Seen:
    """a negative k, in two widths"""
    (k, further), (width, wider) = distinct(2, 20, 2, seed="back"), even(4, 16, 2, seed="widths back")
    return {"matrix": shift_matrix(-k, width), "matrix of another width": shift_matrix(-further, wider)}


@exercise.probe
def some_steps_of_one_pair(shift_matrix: Any) -> Seen:
    """two values of k, width 2: a single pair"""
    return {f"matrix {i}": shift_matrix(k, 2) for i, k in enumerate(distinct(4, 40, 2, seed="steps"))}


@exercise.probe
def shift_with_another_base(shift_matrix: Any) -> Seen:
    """a few steps ahead and one back, width 10, another base"""
    base, k = drawn_base(), whole(3, 15, seed="k")
    return {"matrix": shift_matrix(k, 10, base=base), "matrix for -1": shift_matrix(-1, 10, base)}


exercise.property(repeats(lambda matrix: [matrix(2, 4), matrix(-3, 4)]))


def some_matrix(shift_matrix: Any) -> Tensor:
    return shift_matrix(2, 4)


exercise.property(in_float64_by_default(some_matrix))


exercise.remark(follows_default_dtype(some_matrix))


def turn_on(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([torch.stack([cos, sin], dim=-1), torch.stack([-sin, cos], dim=-1)], dim=-2)


def on_the_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)


@exercise.assembled
def shift_in_steps(
    k: int,
    d_model: int,
    base: float = 10000.0,
    *,
    frequencies: Any = one_per_pair,
    turn: Any = turn_on,
    place: Any = on_the_diagonal,
) -> Tensor:
    result: Tensor = place(turn(k * frequencies(d_model, base)))
    return result.to(torch.get_default_dtype())


@exercise.instead_of("turn")
def turned_the_other_way(angles: Tensor) -> Tensor:
    """Your matrix moves the codes k positions back: its blocks turn the wrong way.

    The rotation as textbooks print it is made for (cosine, sine), or for a code that stands on the left of the matrix.
    Here the sine comes first and the matrix acts from the left.
    """
    return turn_on(angles).transpose(-2, -1)


@exercise.instead_of("turn")
def no_minus(angles: Tensor) -> Tensor:
    """Both sines in your blocks have the same sign.

    Such a block is no rotation: it changes the length of a code. One of the two addition theorems has a minus.
    """
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([cos, sin, sin, cos], dim=-1).unflatten(-1, (2, 2))


@exercise.instead_of("frequencies")
def all_pairs_alike(d_model: int, base: float) -> Tensor:
    """All pairs turn by the same angle k.

    Each pair is a clock of its own speed: pair i turns by k·base^(-2i/d_model).
    """
    return torch.ones(d_model // 2, dtype=torch.float64)


@exercise.instead_of("frequencies")
def blocks_slow_down_half_as_fast(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model.

    The matrix has to turn each pair at the speed at which the codes turn, or it fits no code but its own.
    """
    return exponent_half_as_large(d_model, base)


@exercise.instead_of("frequencies")
def base_of_the_shift_ignored(d_model: int, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    Codes of another base turn at other speeds, and need another matrix.
    """
    return one_per_pair(d_model, 10000.0)


@exercise.instead_of("frequencies")
def blocks_in_whole_turns(d_model: int, base: float) -> Tensor:
    """Your angles carry a factor of 2π, so every step is a whole turn of the first pair: its block says nothing.

    The frequencies are in radians as they stand: the first pair needs 2π ≈ 6.3 positions for a turn.
    """
    return whole_turns(d_model, base)


@exercise.instead_of("frequencies")
def blocks_that_speed_up(d_model: int, base: float) -> Tensor:
    """Your blocks turn faster with i: a sign in the exponent is missing.

    The first pair should be the fastest: pair i turns by k·base^(-2i/d_model).
    """
    return frequencies_that_rise(d_model, base)


@exercise.instead_of("frequencies")
def blocks_doubled_again(d_model: int, base: float) -> Tensor:
    """Your exponent is 4i/d_model: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already.
    """
    return doubled_again(d_model, base)


@exercise.instead_of("place")
def blocks_across_the_halves(blocks: Tensor) -> Tensor:
    """Your matrix joins column i with column i + d_model/2, as if all sines came first and all cosines after them.

    In this course's codes the sine and the cosine of a pair are neighbours, 2i and 2i+1.
    """
    return torch.cat(
        [torch.cat([torch.diag(blocks[:, row, column]) for column in (0, 1)], dim=1) for row in (0, 1)], dim=0
    )


@exercise.misconception
def a_single_step(k: int, d_model: int, base: float = 10000.0) -> Tensor:
    """You move by one position, whatever k is.

    k steps turn each pair k times as far as one step does.
    """
    return shift_matrix(1, d_model, base)


@exercise.misconception
def the_distance_without_its_sign(k: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Your matrix for -k is the matrix for k.

    A negative k moves back: the clocks turn the other way.
    """
    return shift_matrix(abs(k), d_model, base)
