"""The exercise `rotate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.positions.shared import COARSER, drawn_base, side_by_side
from qkv.model.positions import (
    rotate,
)

exercise = Exercise(
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


@exercise.probe
def five_vectors_in_order(rotate: Any) -> Seen:
    """five vectors of width 8 at positions 0 … 4, in a batch of two"""
    return {"rotated": rotate(normal(2, 5, 8, seed="in order"), torch.arange(5))}


@exercise.probe
def positions_in_any_order(rotate: Any) -> Seen:
    """six vectors of width 4 at positions in no order, without a batch dimension"""
    return {"rotated": rotate(normal(6, 4, seed="x"), torch.tensor(distinct(0, 60, 6, seed="positions")))}


@exercise.probe
def a_single_pair(rotate: Any) -> Seen:
    """seven vectors of width 2"""
    return {"rotated": rotate(normal(7, 2, seed="x"), integers(0, 20, 7, seed="positions"))}


@exercise.probe
def rotation_of_another_base(rotate: Any) -> Seen:
    """two batch dimensions, width 10, another base"""
    return {"rotated": rotate(normal(2, 3, 4, 10, seed="x"), integers(1, 40, 4, seed="positions"), base=drawn_base())}


@exercise.probe
def all_at_one_position(rotate: Any) -> Seen:
    """three vectors, all at position 0, then all at another one"""
    return {
        "rotated at 0": rotate(normal(3, 6, seed="x"), torch.zeros(3, dtype=torch.int64)),
        "rotated elsewhere": rotate(normal(3, 6, seed="x"), integers(5, 50, 1, seed="position").repeat(3)),
    }


@exercise.probe
def sizes_of_one_to_rotate(rotate: Any) -> Seen:
    """a single vector, a single sequence, a single head"""
    return {
        "rotated vector": rotate(normal(1, 4, seed="vector"), integers(3, 40, 1, seed="alone")),
        "rotated sequence": rotate(normal(1, 5, 6, seed="sequence"), integers(0, 40, 5, seed="five")),
        "rotated newest vectors": rotate(normal(3, 1, 6, seed="newest"), integers(3, 40, 1, seed="newest")),
        "rotated head": rotate(normal(2, 1, 3, 4, seed="head"), integers(0, 40, 3, seed="three")),
        "rotated pair": rotate(normal(1, 1, 2, seed="pair"), integers(3, 40, 1, seed="pair")),
    }


usual(exercise, vectors_and_positions, without=["in_float16", "in_bfloat16"])


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
        return {f"the result is {name}": short.dtype == dtype, "the result is as in float32, but for rounding": close}

    far_out.__name__ = f"in_{name}_far_out"
    far_out.__doc__ = f"""{name} vectors at positions of some hundreds

    With {name} vectors your result is not {name}, or it is far from what float32 gives for the same vectors.
    """
    return far_out


exercise.property(far_out_in(torch.bfloat16, 0.03))


exercise.property(far_out_in(torch.float16, 0.01))


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


@exercise.assembled
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


@exercise.instead_of("turn")
def turned_backwards(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Your pairs turn the other way round: by -θ.

    As long as queries and keys both do, their scores are the same. It matters where one of them comes from other code,
    such as a checkpoint.
    """
    return turned(a, b, cos, -sin)


@exercise.instead_of("turn")
def a_is_already_turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """You compute the second component from the first one after it was turned.

    Both formulas need the old a and the old b. A slice like x[..., 0::2] is a window on x: whoever writes into x
    changes what is seen through it.
    """
    a = a * cos - b * sin
    return a, a * sin + b * cos


@exercise.instead_of("turn")
def minus_in_both_lines(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Both components have a minus before the sine.

    That is no rotation, and the length of the pair changes with the angle. One of the two has a plus.
    """
    return a * cos - b * sin, b * cos - a * sin


@exercise.instead_of("turn")
def multiplied_by_sine_and_cosine(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """You multiply a by the cosine and b by the sine, and never mix the two.

    A rotation gives each new component a part of both old ones.
    """
    return a * cos, b * sin


@exercise.misconception
def first_half_with_second_half(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You pair component i with component i + d/2.

    Many checkpoints are written for that layout, and both work if queries and keys agree. Here the pairs are
    neighbours, 2i and 2i+1.
    """
    half = x.shape[-1] // 2
    swapped = interleaved(x[..., :half], x[..., half:])
    result = rotate(swapped, positions, base)
    return torch.cat([result[..., 0::2], result[..., 1::2]], dim=-1)


@exercise.instead_of("join")
def halves_instead_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """You split x into neighbours but join the results half beside half.

    The numbers are right and stand in the wrong columns: component 2i should come back to column 2i.
    """
    return torch.cat([a, b], dim=-1)


@exercise.instead_of("angles")
def order_in_the_sequence(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You count 0, 1, 2, … along the sequence and do not use `positions`.

    They need not be in order: while a model writes, the newest token comes alone and sits at position 57.
    """
    return positions_times_frequencies(x, torch.arange(len(positions), device=x.device), base)


@exercise.instead_of("angles")
def pairs_slow_down_half_as_fast(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Your exponent is i/d instead of 2i/d, so the pairs slow down half as fast.

    The exponent should run from 0 to nearly 1 over the d/2 pairs.
    """
    return positions_times_frequencies(x, positions, math.sqrt(base))


@exercise.instead_of("angles")
def rotation_always_of_ten_thousand(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You use 10000 whatever `base` says.

    Models for long texts raise the base, so that their slowest pairs turn less.
    """
    return positions_times_frequencies(x, positions, 10000.0)


@exercise.instead_of("angles")
def one_speed_for_all_pairs(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """All pairs turn at the same speed.

    One speed cannot tell position 1 from position 7.28: after a full turn everything repeats. The slower pairs
    count the turns.
    """
    return positions_times_frequencies(x, positions, 1.0)


@exercise.instead_of("angles")
def angles_in_the_dtype_of_x(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """You compute the angles in the dtype of x, and short dtypes cannot hold them.

    bfloat16 has 8 significant bits: from 256 on it counts in twos, then in fours, and an angle that is off by 1 points
    anywhere. Make angle, sine and cosine in float32 at least; only the result goes back to the dtype of x.
    """
    d = x.shape[-1]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    return positions[:, None].to(x.dtype) * frequencies


@exercise.instead_of("angles")
def pairs_doubled_again(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Your exponent is 4i/d: the 2 of 2i is in it twice.

    Where a loop or `arange` runs over 0, 2, 4, … its number is 2i already.
    """
    return positions_times_frequencies(x, positions, base**2)


def two_layouts(x: Tensor, positions: Tensor, base: float, partner: Tensor, repeat: Callable[..., Tensor]) -> Tensor:
    angles = repeat(positions_times_frequencies(x, positions, base))
    return (x * angles.cos() + partner * angles.sin()).to(x.dtype)


@exercise.misconception
def halves_with_angles_of_neighbours(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You pair component i with component i + d/2, but their angles stand as for neighbours.

    The two of a pair then turn by different angles, which is no rotation. Here pairs are neighbours, 2i and 2i+1, and
    share an angle.
    """
    a, b = x.chunk(2, dim=-1)
    return two_layouts(x, positions, base, torch.cat([-b, a], -1), lambda t: t.repeat_interleave(2, -1))


@exercise.misconception
def neighbours_with_angles_of_halves(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your pairs are neighbours, but the angles stand as for halves: θ of pair i is at i and at i + d/2.

    The two of a pair then turn by different angles, which is no rotation. Components 2i and 2i+1 share an angle.
    """
    a, b = neighbours(x)
    return two_layouts(x, positions, base, interleaved(-b, a), lambda t: torch.cat([t, t], -1))


@exercise.misconception
def only_with_one_batch_dimension(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your code works for x of three dimensions only.

    Before (seq, d) there may be a batch, heads, both, or nothing at all. Count dimensions from the end: seq is -2, d is
    -1.
    """
    _, _, _ = x.shape
    return rotate(x, positions, base)


@exercise.misconception
def not_turned_at_all(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Your result is x as it came: nothing turns.

    Only at position 0 a vector stays as it is. Elsewhere each pair turns by its angle.
    """
    return x.clone()


@exercise.misconception
def added_instead_of_turned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """You add sines and cosines to x.

    That is the sinusoidal code. RoPE adds nothing: it turns what is there, so a vector keeps its length.
    """
    theta = positions_times_frequencies(x, positions, base)
    return (x + side_by_side(theta)).to(x.dtype)


squeezes(exercise)
