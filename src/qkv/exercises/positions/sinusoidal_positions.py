"""The exercise `sinusoidal_positions`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, number, whole
from proctor.inside.properties import follows_default_dtype, repeats
from proctor.inside.situations import Seen
from qkv.exercises.positions.shared import COARSER, drawn_base, even, in_float64_by_default, one_per_pair, side_by_side
from qkv.model.positions import (
    sinusoidal_positions,
)

exercise = Exercise(
    sinusoidal_positions,
    section="A row of clocks",
    minutes=20,
    difficulty=2,
    why="Attention by itself does not know order; these waves tell it without a parameter.",
    hints=[
        "Begin with one pair of columns. For i = 0 the angle is t itself: what stands in columns 0 and 1 of row 3?",
        "All angles at once are a table (length, d_model/2): a column of positions times a row of frequencies.",
        "Pair i uses one angle twice, for its sine and its cosine. How do the two come to stand side by side? "
        "Slices with a step of 2, or `torch.stack` along a new last dimension, can do it.",
    ],
    equivalents={
        "column = torch.arange(0, d_model, 2, dtype=torch.float64)  ->  column = torch.arange(0, d_model, 2)": COARSER
    },
)


@exercise.probe
def codes_of_two_widths(sinusoidal_positions: Any) -> Seen:
    """some positions, in two widths"""
    (length, longer), (width, wider) = distinct(5, 20, 2, seed="lengths"), even(4, 20, 2, seed="widths")
    return {"codes": sinusoidal_positions(length, width), "codes of another width": sinusoidal_positions(longer, wider)}


@exercise.probe
def one_clock(sinusoidal_positions: Any) -> Seen:
    """width 2: a single pair, for two lengths"""
    return {f"codes {i}": sinusoidal_positions(n, 2) for i, n in enumerate(distinct(7, 30, 2, seed="clock"))}


@exercise.probe
def codes_of_another_base(sinusoidal_positions: Any) -> Seen:
    """some positions, width 8, another base"""
    return {"codes": sinusoidal_positions(whole(6, 12, seed="length"), 8, base=drawn_base())}


@exercise.probe
def wider_than_long(sinusoidal_positions: Any) -> Seen:
    """five positions, and a code that is much wider"""
    width, wider = even(24, 60, 2, seed="wide")
    return {"codes": sinusoidal_positions(5, width), "wider codes": sinusoidal_positions(5, wider, 10000.0)}


@exercise.probe
def the_first_position_alone(sinusoidal_positions: Any) -> Seen:
    """position 0 alone, in three widths"""
    return {f"codes {i}": sinusoidal_positions(1, d) for i, d in enumerate(even(2, 30, 3, seed="alone"))}


@exercise.probe
def a_hundred_positions(sinusoidal_positions: Any) -> Seen:
    """about a hundred positions, with a base of millions"""
    base = number(1e6, 1e7, seed="large base")
    return {"codes": sinusoidal_positions(whole(90, 120, seed="hundred"), 6, base)}


exercise.property(repeats(lambda codes: [codes(6, 4), codes(6, 4, 20.0)]))


def some_codes(sinusoidal_positions: Any) -> Tensor:
    return sinusoidal_positions(6, 4)


exercise.property(in_float64_by_default(some_codes))


exercise.remark(follows_default_dtype(some_codes))


def from_zero(length: int) -> Tensor:
    return torch.arange(length, dtype=torch.float64)


@exercise.assembled
def sinusoids_in_steps(
    length: int,
    d_model: int,
    base: float = 10000.0,
    *,
    count: Any = from_zero,
    frequencies: Any = one_per_pair,
    lay_out: Any = side_by_side,
) -> Tensor:
    angles = count(length)[:, None] * frequencies(d_model, base)
    result: Tensor = lay_out(angles)
    return result.to(torch.get_default_dtype())


@exercise.instead_of("lay_out")
def sines_then_cosines(angles: Tensor) -> Tensor:
    """You put all sines into the first half of the columns and all cosines into the second.

    Some libraries do it so, and nothing is lost. But here column 2i+1 belongs to column 2i, and the next exercises turn
    neighbouring columns together.
    """
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@exercise.instead_of("lay_out")
def cosine_first(angles: Tensor) -> Tensor:
    """Your pairs begin with the cosine: column 2i and column 2i+1 have changed places.

    At position 0 every sine is 0 and every cosine 1, so the first row should read 0, 1, 0, 1, …
    """
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)


@exercise.instead_of("lay_out")
def sines_alone(angles: Tensor) -> Tensor:
    """Both columns of a pair hold the sine.

    A sine alone cannot tell the two halves of a turn apart: it passes each height twice. The cosine says which of
    the two it is.
    """
    return torch.stack([angles.sin(), angles.sin()], dim=-1).flatten(-2)


@exercise.instead_of("frequencies")
def exponent_half_as_large(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model, so the clocks slow down half as fast.

    The exponent should run from 0 to nearly 1 over the d_model/2 pairs.
    """
    return base ** (-torch.arange(d_model // 2, dtype=torch.float64) / d_model)


@exercise.instead_of("frequencies")
def frequencies_that_rise(d_model: int, base: float) -> Tensor:
    """Your frequencies rise with i: a sign in the exponent is missing.

    The first pair should be the fastest. With rising frequencies the last pair turns thousands of times between two
    positions.
    """
    return 1 / one_per_pair(d_model, base)


@exercise.instead_of("frequencies")
def always_ten_thousand(d_model: int, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    The default is 10000; a caller with long texts may ask for more.
    """
    return one_per_pair(d_model, 10000.0)


@exercise.instead_of("frequencies")
def last_frequency_is_one_over_base(d_model: int, base: float) -> Tensor:
    """You spread the exponents from 0 to 1 with both ends included.

    With 2i/d_model the last exponent is 1 - 2/d_model. The very first implementation spread them as you do; the paper's
    formula, which is asked for here, does not.
    """
    return base ** -torch.linspace(0, 1, d_model // 2, dtype=torch.float64)


@exercise.instead_of("frequencies")
def whole_turns(d_model: int, base: float) -> Tensor:
    """Your angles carry a factor of 2π, so the first pair comes round at every position and says nothing.

    The frequencies are in radians as they stand: the first pair needs 2π ≈ 6.3 positions for a turn.
    """
    return 2 * math.pi * one_per_pair(d_model, base)


@exercise.instead_of("count")
def counted_from_one(length: int) -> Tensor:
    """Your positions start at 1.

    Positions count from 0 in this course, so the first code is 0, 1, 0, 1, …
    """
    return from_zero(length) + 1


@exercise.instead_of("frequencies")
def doubled_again(d_model: int, base: float) -> Tensor:
    """Your exponent is 4i/d_model: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already. The exponent should run from 0 to nearly 1.
    """
    return one_per_pair(d_model, base) ** 2


@exercise.misconception
def halves_with_both_ends(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """All sines come before all cosines, and the exponents run from 0 to 1 with both ends included.

    That is the layout of the first implementation, and several libraries kept it. The paper's formula, which is asked
    for here, has the pairs side by side and the exponents 2i/d_model.
    """
    half = d_model // 2
    step = math.log(base) / (half - 1)  # width 2 divides by 0, as it does there
    angles = from_zero(length)[:, None] * torch.exp(-step * torch.arange(half, dtype=torch.float64))
    return sines_then_cosines(angles).to(torch.get_default_dtype())


def each_column_its_own(length: int, d_model: int, base: float, exponent: Tensor) -> Tensor:
    angles = from_zero(length)[:, None] * base**-exponent
    even_column = torch.arange(d_model) % 2 == 0
    return torch.where(even_column, angles.sin(), angles.cos()).to(torch.get_default_dtype())


@exercise.misconception
def a_clock_for_every_column(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Every column has an angle of its own: you use the column's number where 2i belongs.

    A sine and a cosine of different angles are no hand of a clock; only two of the same angle turn together.
    """
    return each_column_its_own(length, d_model, base, torch.arange(d_model, dtype=torch.float64) / d_model)


@exercise.misconception
def the_columns_number_for_i(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Every column has an angle of its own: you use the column's number c as the i of 2i/d_model.

    i counts pairs: columns 2i and 2i+1 share the exponent 2i/d_model. A sine and a cosine of different angles are no
    hand of a clock; only two of the same angle turn together.
    """
    return each_column_its_own(length, d_model, base, 2 * torch.arange(d_model, dtype=torch.float64) / d_model)


squeezes(exercise)
