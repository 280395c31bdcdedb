"""Chapter 04: sinusoids, shifts, rotation, relative scores, buckets, linear biases, pieces of words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number, permutation, whole
from proctor.inside.properties import DTYPES, default_dtype, follows_default_dtype, in_either_default, usual
from qkv.model.positions import (
    alibi_bias,
    piece_kinds,
    relative_bucket,
    relative_scores,
    rotate,
    shift_matrix,
    sinusoidal_positions,
)

Seen = dict[str, Any]


# what cannot be asked of a function without floating input
FLOATING = ("gradients", *(f"in_{str(dtype).removeprefix('torch.')}" for dtype in DTYPES))


def drawn_base() -> float:
    return number(20.0, 90.0, seed="base")


def even(low: int, high: int, count: int, seed: str) -> list[int]:
    """Different even numbers from low (included) to high (excluded)."""
    return [2 * half for half in distinct(low // 2, high // 2, count, seed=seed)]


def in_float64_by_default(make: Callable[[Any], Tensor]) -> Callable[[Any], Seen]:
    """A property probe: is the result float32, or of torch's default dtype, and the same where that is float64?"""

    def in_the_default_dtype(implementation: Any) -> Seen:
        """float64 as torch's default dtype

        With float64 as torch's default dtype your result is neither float64 nor float32, or its numbers are not right.
        """
        with default_dtype(torch.float64):
            result = in_either_default(make(implementation))
        # no input is float64, so nobody is told of digits that float64 would have
        return {"is float64 or float32": result.dtype == torch.float64, "result": result.float()}

    return in_the_default_dtype


# ---------------------------------------------------------------------------------------------------------------------

COARSER = "the same to the precision of float32 at the positions looked at; answers need not be better"

sinusoids_exercise = Exercise(
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


@sinusoids_exercise.probe
def codes_of_two_widths(sinusoidal_positions: Any) -> Seen:
    """some positions, in two widths"""
    (length, longer), (width, wider) = distinct(5, 20, 2, seed="lengths"), even(4, 20, 2, seed="widths")
    return {"codes": sinusoidal_positions(length, width), "codes of another width": sinusoidal_positions(longer, wider)}


@sinusoids_exercise.probe
def one_clock(sinusoidal_positions: Any) -> Seen:
    """width 2: a single pair, for two lengths"""
    return {f"codes {i}": sinusoidal_positions(n, 2) for i, n in enumerate(distinct(7, 30, 2, seed="clock"))}


@sinusoids_exercise.probe
def codes_of_another_base(sinusoidal_positions: Any) -> Seen:
    """some positions, width 8, another base"""
    return {"codes": sinusoidal_positions(whole(6, 12, seed="length"), 8, base=drawn_base())}


@sinusoids_exercise.probe
def wider_than_long(sinusoidal_positions: Any) -> Seen:
    """five positions, and a code that is much wider"""
    width, wider = even(24, 60, 2, seed="wide")
    return {"codes": sinusoidal_positions(5, width), "wider codes": sinusoidal_positions(5, wider, 10000.0)}


@sinusoids_exercise.probe
def the_first_position_alone(sinusoidal_positions: Any) -> Seen:
    """position 0 alone, in three widths"""
    return {f"codes {i}": sinusoidal_positions(1, d) for i, d in enumerate(even(2, 30, 3, seed="alone"))}


@sinusoids_exercise.probe
def a_hundred_positions(sinusoidal_positions: Any) -> Seen:
    """about a hundred positions, with a base of millions"""
    base = number(1e6, 1e7, seed="large base")
    return {"codes": sinusoidal_positions(whole(90, 120, seed="hundred"), 6, base)}


def some_codes(sinusoidal_positions: Any) -> Tensor:
    return sinusoidal_positions(6, 4)


sinusoids_exercise.property(in_float64_by_default(some_codes))
sinusoids_exercise.remark(follows_default_dtype(some_codes))


def from_zero(length: int) -> Tensor:
    return torch.arange(length, dtype=torch.float64)


def one_per_pair(d_model: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def side_by_side(angles: Tensor) -> Tensor:
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


@sinusoids_exercise.assembled
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


@sinusoids_exercise.instead_of("lay_out")
def sines_then_cosines(angles: Tensor) -> Tensor:
    """You put all sines into the first half of the columns and all cosines into the second.

    Some libraries do it so, and nothing is lost. But here column 2i+1 belongs to column 2i, and the next exercises turn
    neighbouring columns together.
    """
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@sinusoids_exercise.instead_of("lay_out")
def cosine_first(angles: Tensor) -> Tensor:
    """Your pairs begin with the cosine: column 2i and column 2i+1 have changed places.

    At position 0 every sine is 0 and every cosine 1, so the first row should read 0, 1, 0, 1, …
    """
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)


@sinusoids_exercise.instead_of("lay_out")
def sines_alone(angles: Tensor) -> Tensor:
    """Both columns of a pair hold the sine.

    A sine alone cannot tell the two halves of a turn apart: it passes each height twice. The cosine says which of
    the two it is.
    """
    return torch.stack([angles.sin(), angles.sin()], dim=-1).flatten(-2)


@sinusoids_exercise.instead_of("frequencies")
def exponent_half_as_large(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model, so the clocks slow down half as fast.

    The exponent should run from 0 to nearly 1 over the d_model/2 pairs.
    """
    return base ** (-torch.arange(d_model // 2, dtype=torch.float64) / d_model)


@sinusoids_exercise.instead_of("frequencies")
def frequencies_that_rise(d_model: int, base: float) -> Tensor:
    """Your frequencies rise with i: a sign in the exponent is missing.

    The first pair should be the fastest. With rising frequencies the last pair turns thousands of times between two
    positions.
    """
    return 1 / one_per_pair(d_model, base)


@sinusoids_exercise.instead_of("frequencies")
def always_ten_thousand(d_model: int, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    The default is 10000; a caller with long texts may ask for more.
    """
    return one_per_pair(d_model, 10000.0)


@sinusoids_exercise.instead_of("frequencies")
def last_frequency_is_one_over_base(d_model: int, base: float) -> Tensor:
    """You spread the exponents from 0 to 1 with both ends included.

    With 2i/d_model the last exponent is 1 - 2/d_model. The very first implementation spread them as you do; the paper's
    formula, which is asked for here, does not.
    """
    return base ** -torch.linspace(0, 1, d_model // 2, dtype=torch.float64)


@sinusoids_exercise.instead_of("frequencies")
def whole_turns(d_model: int, base: float) -> Tensor:
    """Your angles carry a factor of 2π, so the first pair comes round at every position and says nothing.

    The frequencies are in radians as they stand: the first pair needs 2π ≈ 6.3 positions for a turn.
    """
    return 2 * math.pi * one_per_pair(d_model, base)


@sinusoids_exercise.instead_of("count")
def counted_from_one(length: int) -> Tensor:
    """Your positions start at 1.

    Positions count from 0 in this course, so the first code is 0, 1, 0, 1, …
    """
    return from_zero(length) + 1


@sinusoids_exercise.instead_of("frequencies")
def doubled_again(d_model: int, base: float) -> Tensor:
    """Your exponent is 4i/d_model: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already. The exponent should run from 0 to nearly 1.
    """
    return one_per_pair(d_model, base) ** 2


@sinusoids_exercise.misconception
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


@sinusoids_exercise.misconception
def a_clock_for_every_column(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Every column has an angle of its own: you use the column's number where 2i belongs.

    A sine and a cosine of different angles are no hand of a clock; only two of the same angle turn together.
    """
    return each_column_its_own(length, d_model, base, torch.arange(d_model, dtype=torch.float64) / d_model)


@sinusoids_exercise.misconception
def the_columns_number_for_i(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Every column has an angle of its own: you use the column's number c as the i of 2i/d_model.

    i counts pairs: columns 2i and 2i+1 share the exponent 2i/d_model. A sine and a cosine of different angles are no
    hand of a clock; only two of the same angle turn together.
    """
    return each_column_its_own(length, d_model, base, 2 * torch.arange(d_model, dtype=torch.float64) / d_model)


# ---------------------------------------------------------------------------------------------------------------------

shift_exercise = Exercise(
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


@shift_exercise.probe
def on_in_two_widths(shift_matrix: Any) -> Seen:
    """some steps on, in two widths"""
    (k, further), (width, wider) = distinct(2, 20, 2, seed="on"), even(4, 16, 2, seed="widths")
    return {"matrix": shift_matrix(k, width), "matrix of another width": shift_matrix(further, wider)}


@shift_exercise.probe
def no_step_and_one_step(shift_matrix: Any) -> Seen:
    """k = 0 and k = 1, in two widths"""
    width, wider = even(2, 16, 2, seed="none")
    return {"matrix for 0": shift_matrix(0, width), "matrix for 1": shift_matrix(1, wider)}


@shift_exercise.probe
def backwards(shift_matrix: Any) -> Seen:
    """a negative k, in two widths"""
    (k, further), (width, wider) = distinct(2, 20, 2, seed="back"), even(4, 16, 2, seed="widths back")
    return {"matrix": shift_matrix(-k, width), "matrix of another width": shift_matrix(-further, wider)}


@shift_exercise.probe
def some_steps_of_one_pair(shift_matrix: Any) -> Seen:
    """two values of k, width 2: a single pair"""
    return {f"matrix {i}": shift_matrix(k, 2) for i, k in enumerate(distinct(4, 40, 2, seed="steps"))}


@shift_exercise.probe
def shift_with_another_base(shift_matrix: Any) -> Seen:
    """some steps on and one back, width 10, another base"""
    base, k = drawn_base(), whole(3, 15, seed="k")
    return {"matrix": shift_matrix(k, 10, base=base), "matrix for -1": shift_matrix(-1, 10, base)}


def some_matrix(shift_matrix: Any) -> Tensor:
    return shift_matrix(2, 4)


shift_exercise.property(in_float64_by_default(some_matrix))
shift_exercise.remark(follows_default_dtype(some_matrix))


def turn_on(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([torch.stack([cos, sin], dim=-1), torch.stack([-sin, cos], dim=-1)], dim=-2)


def on_the_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)


@shift_exercise.assembled
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


@shift_exercise.instead_of("turn")
def turned_the_other_way(angles: Tensor) -> Tensor:
    """Your matrix moves the codes k positions back: its blocks turn the wrong way.

    The rotation as textbooks print it is made for (cosine, sine), or for a code that stands on the left of the matrix.
    Here the sine comes first and the matrix acts from the left.
    """
    return turn_on(angles).transpose(-2, -1)


@shift_exercise.instead_of("turn")
def no_minus(angles: Tensor) -> Tensor:
    """Both sines in your blocks have the same sign.

    Such a block is no rotation: it changes the length of a code. One of the two addition theorems has a minus.
    """
    return turn_on(angles).abs().copysign(torch.stack([angles.cos(), angles.sin()] * 2, -1).unflatten(-1, (2, 2)))


@shift_exercise.instead_of("frequencies")
def all_pairs_alike(d_model: int, base: float) -> Tensor:
    """All pairs turn by the same angle k.

    Each pair is a clock of its own speed: pair i turns by k·base^(-2i/d_model).
    """
    return torch.ones(d_model // 2, dtype=torch.float64)


@shift_exercise.instead_of("frequencies")
def blocks_slow_down_half_as_fast(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model.

    The matrix has to turn each pair at the speed at which the codes turn, or it fits no code but its own.
    """
    return exponent_half_as_large(d_model, base)


@shift_exercise.instead_of("frequencies")
def base_of_the_shift_ignored(d_model: int, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    Codes of another base turn at other speeds, and need another matrix.
    """
    return one_per_pair(d_model, 10000.0)


@shift_exercise.instead_of("frequencies")
def blocks_in_whole_turns(d_model: int, base: float) -> Tensor:
    """Your angles carry a factor of 2π, so every step is a whole turn of the first pair: its block says nothing.

    The frequencies are in radians as they stand: the first pair needs 2π ≈ 6.3 positions for a turn.
    """
    return whole_turns(d_model, base)


@shift_exercise.instead_of("frequencies")
def blocks_that_speed_up(d_model: int, base: float) -> Tensor:
    """Your blocks turn faster with i: a sign in the exponent is missing.

    The first pair should be the fastest: pair i turns by k·base^(-2i/d_model).
    """
    return frequencies_that_rise(d_model, base)


@shift_exercise.instead_of("frequencies")
def blocks_doubled_again(d_model: int, base: float) -> Tensor:
    """Your exponent is 4i/d_model: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already.
    """
    return doubled_again(d_model, base)


@shift_exercise.instead_of("place")
def blocks_across_the_halves(blocks: Tensor) -> Tensor:
    """Your matrix joins column i with column i + d_model/2, as if all sines came first and all cosines after them.

    In this course's codes the sine and the cosine of a pair are neighbours, 2i and 2i+1.
    """
    return torch.cat(
        [torch.cat([torch.diag(blocks[:, row, column]) for column in (0, 1)], dim=1) for row in (0, 1)], dim=0
    )


@shift_exercise.misconception
def a_single_step(k: int, d_model: int, base: float = 10000.0) -> Tensor:
    """You move by one position, whatever k is.

    k steps turn each pair k times as far as one step does.
    """
    return shift_matrix(1, d_model, base)


@shift_exercise.misconception
def the_distance_without_its_sign(k: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Your matrix for -k is the matrix for k.

    A negative k moves back: the clocks turn the other way.
    """
    return shift_matrix(abs(k), d_model, base)


# ---------------------------------------------------------------------------------------------------------------------

rotate_exercise = Exercise(
    rotate,
    section="Turn the query and the key",
    minutes=20,
    difficulty=2,
    why="RoPE: where two vectors stand enters their score by the distance alone. Llama and many after it use it.",
    hints=[
        "Begin with one vector of width 2 at position 3. By which angle does it turn, and where does (1, 0) end?",
        "The angles are a table (seq, d/2) and fit beside x[..., 0::2], whatever dimensions come before.",
        "Which dtype do your angles have if x is bfloat16? It keeps 8 bits: 257 is not one of its numbers.",
        "After turning you have two tensors (..., seq, d/2). The pairs should stand side by side again, "
        "not half beside half.",
    ],
    equivalents={
        "precise = torch.promote_types(x.dtype, torch.float32)  ->  "
        "precise = torch.promote_types(torch.float32, x.dtype)": "promotion does not ask for the order",
        "column = torch.arange(0, d, 2, dtype=precise, device=x.device)  ->  "
        "column = torch.arange(0, d, 2, device=x.device)": COARSER,
    },
)


def vectors_and_positions() -> tuple[Tensor, Tensor]:
    return normal(2, 5, 8, seed="x"), integers(0, 30, 5, seed="positions")


def vectors_far_out() -> tuple[Tensor, Tensor]:
    """At positions of some hundreds that bfloat16 does not have: they are odd."""
    return normal(3, 4, 6, seed="far"), 1 + 2 * integers(130, 200, 4, seed="far out")


@rotate_exercise.probe
def five_vectors_in_order(rotate: Any) -> Seen:
    """five vectors of width 8 at positions 0 … 4, in a batch of two"""
    return {"rotated": rotate(normal(2, 5, 8, seed="in order"), torch.arange(5))}


@rotate_exercise.probe
def positions_in_any_order(rotate: Any) -> Seen:
    """six vectors of width 4 at positions in no order, without a batch dimension"""
    return {"rotated": rotate(normal(6, 4, seed="x"), torch.tensor(distinct(0, 60, 6, seed="positions")))}


@rotate_exercise.probe
def a_single_pair(rotate: Any) -> Seen:
    """seven vectors of width 2"""
    return {"rotated": rotate(normal(7, 2, seed="x"), integers(0, 20, 7, seed="positions"))}


@rotate_exercise.probe
def rotation_of_another_base(rotate: Any) -> Seen:
    """two batch dimensions, width 10, another base"""
    return {"rotated": rotate(normal(2, 3, 4, 10, seed="x"), integers(1, 40, 4, seed="positions"), base=drawn_base())}


@rotate_exercise.probe
def all_at_one_position(rotate: Any) -> Seen:
    """three vectors, all at position 0, then all at another one"""
    return {
        "rotated at 0": rotate(normal(3, 6, seed="x"), torch.zeros(3, dtype=torch.int64)),
        "rotated elsewhere": rotate(normal(3, 6, seed="x"), integers(5, 50, 1, seed="position").repeat(3)),
    }


@rotate_exercise.probe
def sizes_of_one_to_rotate(rotate: Any) -> Seen:
    """a single vector, a single sequence, a single head"""
    return {
        "rotated vector": rotate(normal(1, 4, seed="vector"), integers(3, 40, 1, seed="alone")),
        "rotated sequence": rotate(normal(1, 5, 6, seed="sequence"), integers(0, 40, 5, seed="five")),
        "rotated newest vectors": rotate(normal(3, 1, 6, seed="newest"), integers(3, 40, 1, seed="newest")),
        "rotated head": rotate(normal(2, 1, 3, 4, seed="head"), integers(0, 40, 3, seed="three")),
        "rotated pair": rotate(normal(1, 1, 2, seed="pair"), integers(3, 40, 1, seed="pair")),
    }


usual(rotate_exercise, vectors_and_positions, without=["in_float16", "in_bfloat16"])


def far_out_in(dtype: torch.dtype, nearness: float) -> Callable[[Any], Seen]:
    """A property probe: angles of hundreds need float32, whatever the vectors are.

    How angles in a short dtype go wrong depends on every rounding, so what is compared is whether the result is near.
    """
    name = str(dtype).removeprefix("torch.")

    def far_out(implementation: Any) -> Seen:
        x, positions = vectors_far_out()
        short = implementation(x.to(dtype), positions)
        long = implementation(x.to(dtype).float(), positions)
        close = bool((short.float() - long).abs().max() < nearness * long.abs().max())
        return {f"is {name}": short.dtype == dtype, "as in float32, but for rounding": close}

    far_out.__name__ = f"in_{name}_far_out"
    far_out.__doc__ = f"""{name} vectors at positions of some hundreds

    With {name} vectors your result is not {name}, or it is far from what float32 gives for the same vectors.
    """
    return far_out


rotate_exercise.property(far_out_in(torch.bfloat16, 0.03))
rotate_exercise.property(far_out_in(torch.float16, 0.01))


def positions_times_frequencies(x: Tensor, positions: Tensor, base: float) -> Tensor:
    precise = torch.promote_types(x.dtype, torch.float32)
    d = x.shape[-1]
    return positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=precise, device=x.device) / d)


def neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


def interleaved(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a, b], dim=-1).flatten(-2)


@rotate_exercise.assembled
def rotate_in_steps(
    x: Tensor,
    positions: Tensor,
    base: float = 10000.0,
    *,
    angles: Any = positions_times_frequencies,
    pairs: Any = neighbours,
    turn: Any = turned,
    join: Any = interleaved,
) -> Tensor:
    theta = angles(x, positions, base)
    result: Tensor = join(*turn(*pairs(x), theta.cos(), theta.sin()))
    return result.to(x.dtype)


@rotate_exercise.instead_of("turn")
def turned_backwards(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Your pairs turn the other way round: by -θ.

    As long as queries and keys both do, their scores are the same. It matters where one of them comes from other code,
    such as a checkpoint.
    """
    return turned(a, b, cos, -sin)


@rotate_exercise.instead_of("turn")
def a_is_already_turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """You compute the second component from the first one after it was turned.

    Both formulas need the old a and the old b. A slice like x[..., 0::2] is a window on x: whoever writes into x
    changes what is seen through it.
    """
    a = a * cos - b * sin
    return a, a * sin + b * cos


@rotate_exercise.instead_of("turn")
def minus_in_both_lines(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Both components have a minus before the sine.

    That is no rotation, and the length of the pair changes with the angle. One of the two has a plus.
    """
    return a * cos - b * sin, b * cos - a * sin


@rotate_exercise.instead_of("turn")
def multiplied_by_sine_and_cosine(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """You multiply a by the cosine and b by the sine, and never mix the two.

    A rotation gives each new component a part of both old ones.
    """
    return a * cos, b * sin


@rotate_exercise.misconception
def first_half_with_second_half(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You pair component i with component i + d/2.

    Many checkpoints are written for that layout, and both work if queries and keys agree. Here the pairs are
    neighbours, 2i and 2i+1.
    """
    half = x.shape[-1] // 2
    swapped = interleaved(x[..., :half], x[..., half:])
    result = rotate(swapped, positions, base)
    return torch.cat([result[..., 0::2], result[..., 1::2]], dim=-1)


@rotate_exercise.instead_of("join")
def halves_instead_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """You split x into neighbours but join the results half beside half.

    The numbers are right and stand in the wrong columns: component 2i should come back to column 2i.
    """
    return torch.cat([a, b], dim=-1)


@rotate_exercise.instead_of("angles")
def order_in_the_sequence(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You count 0, 1, 2, … along the sequence and do not use `positions`.

    They need not be in order: while a model writes, the newest token comes alone and sits at position 57.
    """
    return positions_times_frequencies(x, torch.arange(len(positions), device=x.device), base)


@rotate_exercise.instead_of("angles")
def pairs_slow_down_half_as_fast(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Your exponent is i/d instead of 2i/d, so the pairs slow down half as fast.

    The exponent should run from 0 to nearly 1 over the d/2 pairs.
    """
    return positions_times_frequencies(x, positions, math.sqrt(base))


@rotate_exercise.instead_of("angles")
def rotation_always_of_ten_thousand(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    Models for long texts raise the base, so that their slowest pairs turn less.
    """
    return positions_times_frequencies(x, positions, 10000.0)


@rotate_exercise.instead_of("angles")
def one_speed_for_all_pairs(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """All pairs turn at the same speed.

    One speed cannot tell position 1 from position 7.28: after a full turn everything repeats. The slower pairs
    count the turns.
    """
    return positions_times_frequencies(x, positions, 1.0)


@rotate_exercise.instead_of("angles")
def angles_in_the_dtype_of_x(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You compute the angles in the dtype of x, and short dtypes cannot hold them.

    bfloat16 has 8 significant bits: from 256 on it counts in twos, then in fours, and an angle that is off by 1 points
    anywhere. Make angle, sine and cosine in float32 at least; only the result goes back to the dtype of x.
    """
    d = x.shape[-1]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    return positions[:, None].to(x.dtype) * frequencies


@rotate_exercise.instead_of("angles")
def pairs_doubled_again(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Your exponent is 4i/d: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already.
    """
    return positions_times_frequencies(x, positions, base**2)


def two_layouts(x: Tensor, positions: Tensor, base: float, partner: Tensor, repeat: Callable[..., Tensor]) -> Tensor:
    angles = repeat(positions_times_frequencies(x, positions, base))
    return (x * angles.cos() + partner * angles.sin()).to(x.dtype)


@rotate_exercise.misconception
def halves_with_angles_of_neighbours(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You pair component i with component i + d/2, but their angles stand as for neighbours.

    The two of a pair then turn by different angles, which is no rotation. Here pairs are neighbours, 2i and 2i+1, and
    share an angle.
    """
    a, b = x.chunk(2, dim=-1)
    return two_layouts(x, positions, base, torch.cat([-b, a], -1), lambda t: t.repeat_interleave(2, -1))


@rotate_exercise.misconception
def neighbours_with_angles_of_halves(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your pairs are neighbours, but the angles stand as for halves: θ of pair i is at i and at i + d/2.

    The two of a pair then turn by different angles, which is no rotation. Components 2i and 2i+1 share an angle.
    """
    a, b = neighbours(x)
    return two_layouts(x, positions, base, interleaved(-b, a), lambda t: torch.cat([t, t], -1))


@rotate_exercise.misconception
def only_with_one_batch_dimension(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your code works for x of three dimensions only.

    Before (seq, d) there may be a batch, heads, both, or nothing at all. Count dimensions from the end: seq is -2, d is
    -1.
    """
    _, _, _ = x.shape
    return rotate(x, positions, base)


@rotate_exercise.misconception
def not_turned_at_all(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your result is x as it came: nothing turns.

    Only at position 0 a vector stays as it is. Elsewhere each pair turns by its angle.
    """
    return x.clone()


@rotate_exercise.misconception
def added_instead_of_turned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You add sines and cosines to x.

    That is the sinusoidal code. RoPE adds nothing: it turns what is there, so a vector keeps its length.
    """
    theta = positions_times_frequencies(x, positions, base)
    return (x + side_by_side(theta)).to(x.dtype)


# ---------------------------------------------------------------------------------------------------------------------

relative_exercise = Exercise(
    relative_scores,
    section="A vector for every distance",
    minutes=20,
    difficulty=3,
    why="Distances instead of places: what is learned at one place holds at every other.",
    hints=[
        "Draw the table of i - j for three queries and five keys, clipped to -m … m. Which rows of `table` are those?",
        "An index into `table` may not be negative: there is a + m. Where is the row of distance 0?",
        "The second term is a dot product as well: of query i with the row for its distance to key j.",
        "`q @ table.T` has every query with every row. From each query's row of results pick one for each key.",
    ],
)


def queries_keys_and_table() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 4, 6, seed="q"), normal(2, 7, 6, seed="k"), normal(5, 6, seed="table")


@relative_exercise.probe
def four_queries_seven_keys(relative_scores: Any) -> Seen:
    """four queries over seven keys, distances clipped at 2"""
    return {"scores": relative_scores(*queries_keys_and_table())}


@relative_exercise.probe
def more_queries_than_keys(relative_scores: Any) -> Seen:
    """six queries over three keys, without a batch dimension"""
    return {"scores": relative_scores(normal(6, 4, seed="q"), normal(3, 4, seed="k"), normal(7, 4, seed="table"))}


@relative_exercise.probe
def a_table_longer_than_the_text(relative_scores: Any) -> Seen:
    """three queries over three keys, distances up to 4 in the table"""
    return {"scores": relative_scores(normal(3, 5, seed="q"), normal(3, 5, seed="k"), normal(9, 5, seed="table"))}


@relative_exercise.probe
def a_table_of_one_row(relative_scores: Any) -> Seen:
    """a table of a single row, m = 0"""
    q, k = normal(2, 3, 4, seed="q"), normal(2, 5, 4, seed="k")
    return {"scores": relative_scores(q, k, normal(1, 4, seed="table"))}


@relative_exercise.probe
def sizes_of_one_to_score(relative_scores: Any) -> Seen:
    """a single query, a single key, a single sequence, vectors of a single number"""
    sizes = {
        "query": ((2, 1, 4), (2, 6, 4), (5, 4)),
        "key": ((6, 4), (1, 4), (5, 4)),
        "sequence": ((1, 3, 4), (1, 5, 4), (3, 4)),
        "number": ((2, 3, 1), (2, 5, 1), (3, 1)),
        "of each": ((1, 1, 1), (1, 1, 1), (1, 1)),
    }
    return {
        f"scores of one {name}": relative_scores(normal(*q, seed="q"), normal(*k, seed="k"), normal(*t, seed="t"))
        for name, (q, k, t) in sizes.items()
    }


@relative_exercise.probe
def scores_with_two_batch_dimensions(relative_scores: Any) -> Seen:
    """two batch dimensions, distances clipped at 1"""
    q, k = normal(2, 3, 5, 4, seed="q"), normal(2, 3, 6, 4, seed="k")
    return {"scores": relative_scores(q, k, normal(3, 4, seed="table"))}


def of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return normal(5, 5, seed="q"), normal(5, 5, seed="k"), normal(5, 5, seed="table")


usual(relative_exercise, queries_keys_and_table, alike=of_one_shape)


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


def distances(q: Tensor, k: Tensor) -> Tensor:
    query, key = (torch.arange(x.shape[-2], device=x.device) for x in (q, k))
    return query[:, None] - key


def clipped_rows(distance: Tensor, m: int) -> Tensor:
    return distance.clamp(-m, m) + m


def asked_by_the_query(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    return torch.einsum("...id,ijd->...ij", q, vectors)


@relative_exercise.assembled
def relative_in_steps(
    q: Tensor,
    k: Tensor,
    table: Tensor,
    *,
    compare: Any = dot_products,
    measure: Any = distances,
    rows: Any = clipped_rows,
    ask: Any = asked_by_the_query,
) -> Tensor:
    vectors = table[rows(measure(q, k), table.shape[0] // 2)]
    result: Tensor = compare(q, k) + ask(q, k, vectors)
    return result


@relative_exercise.instead_of("measure")
def key_minus_query(q: Tensor, k: Tensor) -> Tensor:
    """You measure from the query to the key: j - i instead of i - j.

    The first paper on this does it so. Here positive means that the key is in the past; with the signs exchanged, a
    table that learned "look one back" looks one ahead.
    """
    return -distances(q, k)


@relative_exercise.instead_of("measure")
def ends_aligned(q: Tensor, k: Tensor) -> Tensor:
    """You place the last query beside the last key.

    That is right while a model writes with a cache. Here queries and keys both start at position 0.
    """
    return distances(q, k) + (k.shape[-2] - q.shape[-2])


@relative_exercise.instead_of("measure")
def distance_without_direction(q: Tensor, k: Tensor) -> Tensor:
    """You use the size of the distance only, so past and future get the same vector.

    The table has 2m+1 rows because "two before" and "two after" are different answers.
    """
    return distances(q, k).abs()


@relative_exercise.instead_of("rows")
def table_not_centred(distance: Tensor, m: int) -> Tensor:
    """You index the table with the distance itself, without + m.

    Then distance 0 takes row 0, and a negative distance counts from the end of the table, as negative indices do.
    """
    return distance.clamp(-m, m)


@relative_exercise.instead_of("rows")
def clipped_after_the_shift(distance: Tensor, m: int) -> Tensor:
    """You clip after adding m, so all positive distances share the row of distance 0.

    Clip the distance to -m … m first, or its row to 0 … 2m.
    """
    return (distance + m).clamp(0, m)


@relative_exercise.instead_of("rows")
def the_row_of_no_distance(distance: Tensor, m: int) -> Tensor:
    """Every pair gets the same row of your table, the one for distance 0.

    Then the scores say nothing about the distance. Query i and key j should get row clip(i-j, -m, m) + m.
    """
    return torch.full_like(distance, m)


@relative_exercise.instead_of("rows")
def wrapped_around(distance: Tensor, m: int) -> Tensor:
    """Distances beyond m start again at the other end of the table.

    With a remainder, m+1 means the same as -m: a key far behind looks like a key far ahead. Far distances should
    share the last row.
    """
    return (distance + m) % (2 * m + 1)


@relative_exercise.instead_of("ask")
def asked_by_the_key(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """You multiply the distance's vector by the key instead of by the query.

    The query decides what it looks for, a content and a distance; so both terms are dot products with the query.
    """
    return torch.einsum("...jd,ijd->...ij", k, vectors)


@relative_exercise.instead_of("ask")
def a_price_for_the_distance(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """You add up the distance's vector without the query.

    Then every query has the same opinion of a distance. That is the idea of T5's bias; here the query is asked.
    """
    return vectors.sum(dim=-1)


@relative_exercise.instead_of("ask")
def content_alone(q: Tensor, k: Tensor, vectors: Tensor) -> Tensor:
    """Your scores hold the content and not the distance: the table is not used.

    The two terms are added: what the key is, and how far away it is.
    """
    return torch.zeros_like(dot_products(q, k))


@relative_exercise.instead_of("compare")
def position_alone(q: Tensor, k: Tensor) -> Tensor:
    """Your scores hold the distance and not the content: q·k is missing.

    The two terms are added: what the key is, and how far away it is.
    """
    return torch.zeros_like(dot_products(q, k))


@relative_exercise.misconception
def already_divided(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """You divide the scores by the square root of d.

    Attention divides later, once, by itself. Here the unscaled sum is asked for.
    """
    return relative_scores(q, k, table) / math.sqrt(q.shape[-1])


@relative_exercise.instead_of("compare")
def only_with_one_batch_dimension_of_keys(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for q and k of three dimensions only: you exchange dimensions 1 and 2.

    Before (key, d) there may be a batch, heads, both, or nothing at all. Counted from the end, the two are -2 and -1.
    """
    return q @ k.transpose(1, 2)


@relative_exercise.instead_of("compare")
def only_for_bmm(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for q and k of three dimensions only: `torch.bmm` knows no others.

    Before (key, d) there may be a batch, heads, both, or nothing at all. `@` multiplies the last two dimensions,
    whatever comes before.
    """
    return torch.bmm(q, k.transpose(-2, -1))


@relative_exercise.instead_of("compare")
def only_without_a_batch(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for a single sequence only: `k.T` turns all dimensions round.

    Before (key, d) there may be a batch, heads, or both. Exchange the last two dimensions alone: `k.mT`.
    """
    return q @ k.T


# ---------------------------------------------------------------------------------------------------------------------

bucket_exercise = Exercise(
    relative_bucket,
    section="Buckets for far distances",
    minutes=20,
    difficulty=3,
    why="Near distances exactly and far ones roughly: how T5 gets along with few parameters.",
    hints=[
        "Take the sign away first: which half of the buckets is decided by it, and distance 0 belongs to which half?",
        "With 32 buckets a side has 16: eight for the sizes 0 … 7, eight for everything beyond.",
        "A logarithm makes equal steps of equal ratios. Scale it: 0 at the first far size, 1 at max_distance.",
        "Round down, not to the nearest. And what happens to a distance of 1000?",
    ],
    equivalents={
        "def relative_bucket(distance, n_buckets=32, max_distance=128):  ->  "
        "def relative_bucket(distance, n_buckets=33, max_distance=128):": "33 is cut down as 32 is",
    },
)


def off_the_borders(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """Where a bucket begins at a whole number, or nearly, the last bit of a logarithm decides: do not look there."""
    exact = n_buckets // 4
    borders = exact * (max_distance / exact) ** (torch.arange(1, exact, dtype=torch.float64) / exact)
    on_border = ((distance.abs()[..., None] - borders).abs() < 1e-3).any(-1)
    return torch.where(on_border, distance + distance.sign(), distance)


def far_and_near() -> tuple[Tensor]:
    return (off_the_borders(integers(-200, 200, 5, 8, seed="distances")),)


@bucket_exercise.probe
def near_distances(relative_bucket: Any) -> Seen:
    """distances from -15 to 15 in random order, 32 buckets"""
    return {"buckets": relative_bucket(permutation(31, seed="near") - 15)}


@bucket_exercise.probe
def distances_of_hundreds(relative_bucket: Any) -> Seen:
    """a table of distances between -200 and 200, 32 buckets"""
    return {"buckets": relative_bucket(*far_and_near())}


@bucket_exercise.probe
def beyond_the_maximum(relative_bucket: Any) -> Seen:
    """distances around the maximum of 128 and far beyond it"""
    ends = torch.tensor([-200000, -5000, -129, -128, -91, -90, 90, 91, 127, 400, 5000, 200000])
    distance = torch.cat([ends, off_the_borders(integers(-9000, 9000, 6, seed="far"))])
    return {"buckets": relative_bucket(distance[permutation(18, seed="order")])}


@bucket_exercise.probe
def the_same_place(relative_bucket: Any) -> Seen:
    """distances -1, 0 and 1, in random order"""
    distance = torch.tensor([-1, 0, 1] * 4)
    return {"buckets": relative_bucket(distance[permutation(12, seed="order")])}


@bucket_exercise.probe
def another_number_of_buckets(relative_bucket: Any) -> Seen:
    """distances between -120 and 120, another number of buckets, another maximum"""
    n_buckets, maximum = 4 * whole(3, 11, seed="n_buckets"), whole(60, 110, seed="maximum")
    distance = off_the_borders(integers(-120, 120, 40, seed="d"), n_buckets, maximum)
    return {"buckets": relative_bucket(distance, n_buckets=n_buckets, max_distance=maximum)}


@bucket_exercise.probe
def twelve_buckets(relative_bucket: Any) -> Seen:
    """every distance from -60 to 60 in random order, 12 buckets up to a distance of about 50"""
    maximum = whole(40, 58, seed="maximum")
    distance = off_the_borders(permutation(121, seed="order") - 60, 12, maximum)
    return {"buckets": relative_bucket(distance, 12, maximum)}


@bucket_exercise.probe
def as_few_as_possible(relative_bucket: Any) -> Seen:
    """four buckets; a single distance, in tensors of one dimension, of two, and of none"""
    far, near, behind = integers(9, 40, 1, seed="far"), integers(1, 8, 1, seed="near"), -integers(1, 40, 1, seed="back")
    return {
        "four buckets": relative_bucket(integers(-30, 30, 3, 7, seed="four"), n_buckets=4, max_distance=20),
        "bucket in one dimension": relative_bucket(off_the_borders(far)),
        "bucket in two dimensions": relative_bucket(off_the_borders(behind)[None]),
        "bucket without dimensions": relative_bucket(near[0]),
    }


usual(bucket_exercise, far_and_near, without=FLOATING)


def after_the_query(distance: Tensor) -> Tensor:
    return distance > 0


def shares(n_buckets: int) -> tuple[int, int]:
    return n_buckets // 2, n_buckets // 4  # of a side, exact of a side


def by_logarithm(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).long()


def in_the_last_bucket(bucket: Tensor, side: int) -> Tensor:
    return bucket.clamp(max=side - 1)


@bucket_exercise.assembled
def bucket_in_steps(
    distance: Tensor,
    n_buckets: int = 32,
    max_distance: int = 128,
    *,
    second_half: Any = after_the_query,
    share: Any = shares,
    grow: Any = by_logarithm,
    stop: Any = in_the_last_bucket,
) -> Tensor:
    side, exact = share(n_buckets)
    size = distance.abs()
    far = stop(grow(size, exact, side, max_distance), side)
    return torch.where(size < exact, size, far) + (n_buckets // 2) * second_half(distance)


@bucket_exercise.instead_of("second_half")
def past_in_the_second_half(distance: Tensor) -> Tensor:
    """You offset the negative distances; the positive ones should be.

    A distance is key minus query: positive means that the key comes after the query.
    """
    return distance < 0


@bucket_exercise.instead_of("second_half")
def zero_in_the_second_half(distance: Tensor) -> Tensor:
    """You offset distance 0 as well.

    A token's distance to itself is not positive: it has bucket 0.
    """
    return distance >= 0


@bucket_exercise.instead_of("second_half")
def both_sides_together(distance: Tensor) -> Tensor:
    """Past and future share their buckets: nothing is offset.

    Half of the buckets is never used, and "three before" cannot be told from "three after".
    """
    return torch.zeros_like(distance, dtype=torch.bool)


@bucket_exercise.instead_of("share")
def half_of_all_buckets_exact(n_buckets: int) -> tuple[int, int]:
    """You give each side an exact bucket for n_buckets/2 sizes, so none is left for the logarithm.

    Each side has n_buckets/2 in all, and half of those, n_buckets/4, are exact.
    """
    return n_buckets // 2, n_buckets // 2 - 1


@bucket_exercise.instead_of("grow")
def rounded_to_the_nearest(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You round the logarithm to the nearest bucket.

    A bucket begins where the logarithm reaches its number, so the fraction is cut off: round down.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).round().long()


@bucket_exercise.instead_of("grow")
def rounded_up(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You round the logarithm up to the next bucket.

    A bucket begins where the logarithm reaches its number, so the fraction is cut off: round down.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).ceil().long()


@bucket_exercise.instead_of("grow")
def logarithm_ends_too_late(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You divide by log(max_distance), so your buckets grow too fast and the last ones stay empty.

    The logarithm of size/exact runs from 0 to log(max_distance/exact): that is what it has to be divided by.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance)
    return exact + (progress * (side - exact)).long()


@bucket_exercise.instead_of("grow")
def far_ones_in_equal_steps(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """Your far buckets are all of the same width.

    Between 100 and 108 nobody needs to tell; between 8 and 16 somebody may. A logarithm makes buckets that widen
    with the distance.
    """
    return exact + (size.clamp(min=exact) - exact) * (side - exact) // (max_distance - exact)


@bucket_exercise.instead_of("stop")
def past_the_last_bucket(bucket: Tensor, side: int) -> Tensor:
    """Distances beyond max_distance run past the last bucket of their side.

    On the left they land among the buckets for the right, on the right they are no bucket at all. From max_distance
    on, all share the last one.
    """
    return bucket


@bucket_exercise.instead_of("stop")
def last_bucket_of_all(bucket: Tensor, side: int) -> Tensor:
    """You stop at the last bucket of all, not at the last one of a side.

    Far distances on the left land among the buckets for the right. Each side ends at n_buckets/2 - 1 before the offset.
    """
    return bucket.clamp(max=2 * side - 1)


@bucket_exercise.instead_of("stop")
def one_bucket_short(bucket: Tensor, side: int) -> Tensor:
    """The last bucket of each side stays empty: you stop one before it.

    Buckets count from 0, so a side of n_buckets/2 ends with n_buckets/2 - 1.
    """
    return bucket.clamp(max=side - 2)


@bucket_exercise.misconception
def buckets_as_floats(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """Your buckets are floating numbers.

    They will be looked up in a table, and only whole numbers can be: return int64.
    """
    return relative_bucket(distance, n_buckets, max_distance).float()


@bucket_exercise.misconception
def buckets_for_the_past_only(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """You use all buckets for the past, and every key after the query falls into bucket 0.

    That is T5's version for a decoder, which never looks ahead. This one looks both ways.
    """
    size = (-distance).clamp(min=0)
    exact = n_buckets // 2
    far = by_logarithm(size, exact, n_buckets, max(max_distance, exact + 1)).clamp(max=n_buckets - 1)
    return torch.where(size < exact, size, far)


# ---------------------------------------------------------------------------------------------------------------------

alibi_exercise = Exercise(
    alibi_bias,
    section="A price for every step back",
    minutes=10,
    difficulty=2,
    why="A penalty that grows with distance needs no table, so there is one for every length.",
    hints=[
        "First the table of steps back, i - j, for one head. What stands on its diagonal, and what above it?",
        "For n = 8 the slopes are 1/2, 1/4, …, 1/256. Which exponents does that need? And for n = 4?",
        "Shapes: slopes (head, 1, 1) times steps (query, key). A bias makes far keys less likely: which sign?",
    ],
)


@alibi_exercise.probe
def a_power_of_two(alibi_bias: Any) -> Seen:
    """two, four or sixteen heads, and eight; some positions"""
    heads = 2 ** distinct(1, 5, 2, seed="power")[0]
    length, longer = distinct(4, 12, 2, seed="lengths")
    return {"bias": alibi_bias(heads, length), "bias of eight heads": alibi_bias(8, longer)}


@alibi_exercise.probe
def not_a_power_of_two(alibi_bias: Any) -> Seen:
    """numbers of heads that are no power of two, some positions"""
    heads, length = whole(9, 16, seed="heads"), whole(4, 9, seed="length")
    return {"bias": alibi_bias(heads, length), "bias of three heads": alibi_bias(3, length + 2)}


@alibi_exercise.probe
def one_head(alibi_bias: Any) -> Seen:
    """one head, for two lengths"""
    return {f"bias {i}": alibi_bias(1, n) for i, n in enumerate(distinct(3, 15, 2, seed="lengths"))}


@alibi_exercise.probe
def one_position(alibi_bias: Any) -> Seen:
    """a single position, for three numbers of heads, and one of each"""
    return {f"bias {i}": alibi_bias(n, 1) for i, n in enumerate([1, *distinct(2, 15, 3, seed="heads")])}


@alibi_exercise.probe
def hundreds_of_steps_back(alibi_bias: Any) -> Seen:
    """two heads, some hundred positions"""
    return {"bias": alibi_bias(2, whole(257, 300, seed="long"))}


def some_biases(alibi_bias: Any) -> Tensor:
    return alibi_bias(5, 4)


alibi_exercise.property(in_float64_by_default(some_biases))
alibi_exercise.remark(follows_default_dtype(some_biases))


def geometric(n_heads: int) -> Tensor:
    return 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


def priced(slopes: Tensor, steps_back: Tensor) -> Tensor:
    return (-slopes * steps_back).masked_fill(steps_back < 0, -math.inf)


@alibi_exercise.assembled
def alibi_in_steps(n_heads: int, length: int, *, slopes: Any = geometric, price: Any = priced) -> Tensor:
    position = torch.arange(length)
    result: Tensor = price(slopes(n_heads)[:, None, None], position[:, None] - position)
    return result


@alibi_exercise.instead_of("slopes")
def slopes_of_eight_heads(n_heads: int) -> Tensor:
    """Your slopes are 1/2, 1/4, 1/8, … whatever the number of heads is.

    That is right for eight heads. The exponents should reach 8 at the last head, so they take steps of 8/n.
    """
    return 2.0 ** -torch.arange(1, n_heads + 1)


@alibi_exercise.instead_of("slopes")
def heads_counted_from_zero(n_heads: int) -> Tensor:
    """Your heads count from 0, so the first slope is 1 and the last one is too steep.

    The exponent is -8h/n for h = 1 … n.
    """
    return 2.0 ** (-8 * torch.arange(n_heads) / n_heads)


@alibi_exercise.instead_of("slopes")
def one_slope_for_all(n_heads: int) -> Tensor:
    """All your heads have the same slope.

    The point of many slopes is many reaches: a steep head sees its neighbours, a flat one sees far.
    """
    return torch.full((n_heads,), 2.0 ** (-8 / n_heads))


@alibi_exercise.instead_of("slopes")
def slopes_in_equal_steps(n_heads: int) -> Tensor:
    """Your slopes fall in equal steps; they should fall by equal ratios.

    Each head's slope is the one before times 2^(-8/n), so that the reaches spread over all scales.
    """
    return torch.arange(n_heads, 0, -1) / n_heads


@alibi_exercise.instead_of("slopes")
def slopes_of_the_nearest_power(n_heads: int) -> Tensor:
    """Where the number of heads is no power of two, your slopes come from the powers next to it.

    The authors' own code does so, and weaves two series together. Here one series is asked for, for every number of
    heads: 2^(-8h/n).
    """
    lower = 2 ** math.floor(math.log2(n_heads))
    return torch.cat([geometric(lower), geometric(2 * lower)[0::2][: n_heads - lower]])


@alibi_exercise.instead_of("price")
def large_instead_of_infinite(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """You hide later keys with a large negative number.

    Beside a score of the same size it hides nothing, and in float16 it overflows. -inf is a weight of exactly 0,
    whatever the scores are.
    """
    return (-slopes * steps_back).masked_fill(steps_back < 0, -1e9)


def alike_in_every_row(slopes: Tensor, steps_back: Tensor, first: int) -> Tensor:
    length = steps_back.shape[-1]
    keys = torch.arange(first, first + length)
    return (slopes * keys).expand(-1, length, -1).masked_fill(steps_back < 0, -math.inf)


@alibi_exercise.instead_of("price")
def the_same_row_for_every_query(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias grows with the key's position and is the same in every row.

    After a softmax the two cannot be told apart, and some code saves memory that way. Here the bias itself is asked
    for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 0)


@alibi_exercise.instead_of("price")
def the_same_row_counted_from_one(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias is slope·(j+1): it grows with the key's position and is the same in every row.

    After a softmax the two cannot be told apart, since they differ by the same number in a whole row. Here the bias
    itself is asked for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 1)


@alibi_exercise.instead_of("price")
def the_row_of_the_last_query(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Every row of your bias counts back from the last position, as if all queries were there.

    After a softmax the two cannot be told apart, since they differ by the same number in a whole row. Here the bias
    itself is asked for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 1 - steps_back.shape[-1])


@alibi_exercise.instead_of("price")
def distance_rewarded(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias grows with the distance: far keys are rewarded.

    A bias is added to the scores. To make far keys cost something it has to be negative.
    """
    return (slopes * steps_back).masked_fill(steps_back < 0, -math.inf)


@alibi_exercise.instead_of("price")
def future_allowed(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys are not hidden: your bias charges for steps ahead as for steps back.

    This bias is for a model that writes from left to right. Keys after the query should get -inf.
    """
    return -slopes * steps_back.abs()


@alibi_exercise.instead_of("price")
def future_rewarded(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys are not hidden, and your bias even rewards them: i - j is negative there.

    Keys after the query should get -inf.
    """
    return -slopes * steps_back


@alibi_exercise.instead_of("price")
def future_at_zero(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys get a bias of 0.

    A bias of 0 is no obstacle: it is the best price of all. Only -inf becomes a weight of exactly 0.
    """
    return (-slopes * steps_back).tril()


@alibi_exercise.instead_of("price")
def rows_and_columns_exchanged(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Queries and keys have changed places: your rows are keys.

    Row i belongs to query i. With the table turned, a token sees the future and not the past.
    """
    return priced(slopes, steps_back).transpose(-2, -1)


# ---------------------------------------------------------------------------------------------------------------------

pieces_exercise = Exercise(
    piece_kinds,
    section="Pieces of words",
    minutes=10,
    difficulty=2,
    why="Models read pieces, people read words: this says where a word begins and where it only goes on.",
    hints=[
        "Which kind can you tell from a piece alone, without its neighbours?",
        'Whether "trans" is a whole word depends on a neighbour. On which one?',
        "The last piece has no neighbour there. And for an empty list: which dtype does torch.tensor([]) have?",
    ],
)

WORDS = ["the", "trans", "former", "un", "happy", "ness", "cat", "s"]


def text_of(continues: Tensor, seed: str) -> list[str]:
    """A piece for every entry, marked where the entry is 1."""
    words = integers(0, 8, len(continues), seed=seed).tolist()
    return ["##" * int(c) + WORDS[w] for c, w in zip(continues.tolist(), words, strict=True)]


def drawn_text(count: int, seed: str, first: str = "", last: str = "") -> list[str]:
    """That many pieces, marked or not by chance, between a beginning and an end: "m" is a marked piece, "." is not."""
    fixed = [torch.tensor([int(letter == "m") for letter in text], dtype=torch.int64) for text in (first, last)]
    return text_of(torch.cat([fixed[0], integers(0, 2, count, seed=f"marks {seed}"), fixed[1]]), seed)


@pieces_exercise.probe
def a_drawn_text(piece_kinds: Any) -> Seen:
    """twenty pieces, about half of them marked; the first and the last are not"""
    return {"kinds": piece_kinds(drawn_text(14, "text", "..mm", "m."))}


@pieces_exercise.probe
def whole_words(piece_kinds: Any) -> Seen:
    """whole words alone, in texts of three lengths"""
    texts = [
        text_of(torch.zeros(n, dtype=torch.int64), f"whole {i}") for i, n in enumerate(distinct(1, 9, 3, seed="n"))
    ]
    return {f"kinds {i}": piece_kinds(text) for i, text in enumerate(texts)}


@pieces_exercise.probe
def begins_with_a_later_piece(piece_kinds: Any) -> Seen:
    """a text that was cut: its first piece carries the mark"""
    return {"kinds": piece_kinds(drawn_text(12, "cut", "mm..", "m."))}


@pieces_exercise.probe
def ends_inside_a_word(piece_kinds: Any) -> Seen:
    """a text that ends with a split word"""
    return {"kinds": piece_kinds(drawn_text(12, "end", "..", ".mm"))}


@pieces_exercise.probe
def later_pieces_alone(piece_kinds: Any) -> Seen:
    """marked pieces and nothing else: one of them, and some"""
    marked = [["##ing"], *(text_of(torch.ones(n, dtype=torch.int64), "ones") for n in distinct(2, 12, 2, seed="ones"))]
    return {f"kinds {i}": piece_kinds(text) for i, text in enumerate(marked)}


@pieces_exercise.probe
def number_signs_elsewhere(piece_kinds: Any) -> Seen:
    """pieces with number signs that are no marks, such as "#1", "c##" and "a##b", in random order"""
    pieces = ["#1", "a", "c##", "a##b", "x", "##y", "#", "# #z", "##", "##a##", "###"]
    return {"kinds": piece_kinds([pieces[i] for i in permutation(len(pieces), seed="order").tolist()])}


@pieces_exercise.probe
def no_pieces(piece_kinds: Any) -> Seen:
    """an empty list, and a text"""
    return {"kinds of nothing": piece_kinds([]), "kinds": piece_kinds(drawn_text(12, "something", last="m."))}


@pieces_exercise.property
def as_a_tensor(piece_kinds: Any) -> Seen:
    """what is returned for three pieces

    Your kinds are right, but not in a tensor of int64. An embedding takes nothing else.
    """
    kinds = piece_kinds(["un", "##happy", "cat"])
    return {"is an int64 tensor": getattr(kinds, "dtype", None) == torch.int64}


@pieces_exercise.property
def keeps_the_pieces(piece_kinds: Any) -> Seen:
    """a list that the caller goes on using

    Your code changes the list that it was given. The caller still needs it.
    """
    pieces = ["un", "##happy", "cat"]
    piece_kinds(pieces)
    return {"unchanged": pieces == ["un", "##happy", "cat"]}


def leading_mark(pieces: list[str]) -> list[bool]:
    return [piece.startswith("##") for piece in pieces]


def next_one_continues(continues: list[bool]) -> list[bool]:
    return [*continues, False][1:]


def three_kinds(continues: bool, is_split: bool) -> int:
    return 2 if continues else int(is_split)


@pieces_exercise.assembled
def kinds_in_steps(
    pieces: list[str], *, marked: Any = leading_mark, split: Any = next_one_continues, name: Any = three_kinds
) -> Tensor:
    continues = marked(pieces)
    return torch.tensor([name(c, s) for c, s in zip(continues, split(continues), strict=True)], dtype=torch.int64)


@pieces_exercise.instead_of("marked")
def a_mark_anywhere(pieces: list[str]) -> list[bool]:
    """You look for ## anywhere in a piece.

    Only a leading ## is the mark; in "a##b" it is part of the text.
    """
    return ["##" in piece for piece in pieces]


@pieces_exercise.instead_of("marked")
def a_mark_at_the_end(pieces: list[str]) -> list[bool]:
    """You look for ## at the end of a piece.

    Some tokenisers mark pieces there, by other signs. Here a later piece begins with ##.
    """
    return [piece.endswith("##") for piece in pieces]


@pieces_exercise.instead_of("marked")
def one_sign_is_enough(pieces: list[str]) -> list[bool]:
    """You take a single leading # for the mark.

    "#1" is a word that begins with a number sign. The mark is two of them.
    """
    return [piece.startswith("#") for piece in pieces]


@pieces_exercise.instead_of("marked")
def never_in_first_place(pieces: list[str]) -> list[bool]:
    """You take the first piece of the list for the beginning of a word, even if it carries the mark.

    Texts are cut anywhere. A marked piece is a later piece, also in first place.
    """
    return [i > 0 and piece.startswith("##") for i, piece in enumerate(pieces)]


@pieces_exercise.instead_of("split")
def looks_back(continues: list[bool]) -> list[bool]:
    """You look at the piece before to see whether a word is split.

    A word is split if something continues it, and that comes after it.
    """
    return [False, *continues][: len(continues)]


@pieces_exercise.instead_of("split")
def around_the_corner(continues: list[bool]) -> list[bool]:
    """Your last piece looks at the first one: the list closes to a ring.

    After the last piece nothing follows, so nothing continues it.
    """
    return continues[1:] + continues[:1]


@pieces_exercise.instead_of("name")
def begin_or_later(continues: bool, is_split: bool) -> int:
    """Whole words and first pieces of split words are the same to you.

    "trans" alone and "trans" before "##former" are different things: kind 0 and kind 1.
    """
    return 2 if continues else 0


@pieces_exercise.instead_of("name")
def every_beginning_is_a_first_piece(continues: bool, is_split: bool) -> int:
    """You call every beginning of a word a first piece, also where the word is whole.

    A word of a single piece is kind 0.
    """
    return 2 if continues else 1


@pieces_exercise.instead_of("name")
def whole_and_first_exchanged(continues: bool, is_split: bool) -> int:
    """You have exchanged 0 and 1.

    0 is a whole word, 1 the first piece of a split one.
    """
    return 2 if continues else int(not is_split)


@pieces_exercise.misconception
def a_python_list(pieces: list[str]) -> list[int]:
    """You return a Python list.

    The kinds will be looked up in an embedding, which takes a tensor of int64.
    """
    kinds: list[int] = piece_kinds(pieces).tolist()
    return kinds


@pieces_exercise.misconception
def nothing_is_a_float(pieces: list[str]) -> Tensor:
    """For an empty list you return a tensor of floats.

    `torch.tensor([])` has nothing to guess a dtype from and takes the default. Say int64.
    """
    return piece_kinds(pieces) if pieces else torch.tensor([])


@pieces_exercise.misconception
def kinds_as_floats(pieces: list[str]) -> Tensor:
    """Your kinds are floating numbers.

    They will be looked up in an embedding, which takes a tensor of int64.
    """
    return piece_kinds(pieces).float()
