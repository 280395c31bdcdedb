"""Positions: attention sees a set; these are the ways to give it an order.

Sinusoids: Vaswani et al. 2017, section 3.5. Relative scores: Shaw et al. 2018. Buckets: Raffel et al. 2020 (T5).
Rotation: Su et al. 2021 (RoPE). Linear biases: Press et al. 2022 (ALiBi). Shapes: see model/__init__.py.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects

Function = TypeVar("Function", bound=Callable[..., Any])


class also:
    """What a function expects of its arguments beyond their sizes; like `expects`, no part of the answer."""

    @staticmethod
    def expects(complaint: Callable[..., str]) -> Callable[[Function], Function]:
        """Raise ValueError with what `complaint` says about the arguments; it says nothing about good ones."""

        def decorate(function: Function) -> Function:
            signature = inspect.signature(function)
            owner = function.__qualname__.removesuffix(".forward").removesuffix(".__init__")  # a module by its name

            @wraps(function)
            def checked(*args: Any, **kwargs: Any) -> Any:
                given = signature.bind(*args, **kwargs)
                given.apply_defaults()
                message = complaint(**given.arguments)
                if message:
                    raise ValueError(f"{owner}: {message}")
                return function(*args, **kwargs)

            return cast(Function, checked)

        return decorate


def odd_width(x: Tensor, positions: Tensor, base: float) -> str:
    d = x.shape[-1]
    return f"x has {d} components, expected an even number: they turn in pairs (2i, 2i+1)." if d % 2 else ""


def not_a_speed_a_pair(x: Tensor, positions: Tensor, frequencies: Tensor) -> str:
    d = x.shape[-1]
    if d % 2:
        return f"x has {d} components, expected an even number: they turn in pairs (2i, 2i+1)."
    if frequencies.shape != (d // 2,):
        shape = tuple(frequencies.shape)
        return f"frequencies is {shape}, expected ({d // 2},): one speed for each pair of x's {d} components."
    return ""


def even_table(q: Tensor, k: Tensor, table: Tensor) -> str:
    rows = table.shape[0]
    return (
        "" if rows % 2 else f"table has {rows} rows, expected an odd number 2m+1: one for each distance from -m to m."
    )


def uneven_buckets(distance: Tensor, n_buckets: int, max_distance: int) -> str:
    if n_buckets % 4:
        return f"n_buckets is {n_buckets}, expected a multiple of 4: two sides, half of each side exact."
    if max_distance <= n_buckets // 4:
        exact = n_buckets // 4
        return f"max_distance is {max_distance}, expected more than n_buckets/4 = {exact}: nearer distances are exact."
    return ""


def one_string(pieces: list[str]) -> str:
    return "pieces is a single string, expected a list of strings. Use [pieces]." if isinstance(pieces, str) else ""


@expects(length="size", d_model="even")
def sinusoidal_positions(
    length: int,
    d_model: int,
    base: float = 10000.0,
) -> Tensor:
    """Give every position a code: the hands of clocks, each slower than before.

    Args:
        length: how many positions, from 0.
        d_model: width of a code, even.
        base: how much slower the last clock is than the first, nearly.

    Returns:
        codes (length, d_model). In row t, column 2i is the sine and column
        2i+1 the cosine of the angle t·base^(-2i/d_model).
    """
    column = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i
    frequencies = base ** (-column / d_model)  # (d_model / 2,)
    angles = torch.arange(length)[:, None] * frequencies  # (length, …)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (…, …, 2)
    return pairs.flatten(-2).to(torch.get_default_dtype())


@expects(d_model="even")
def shift_matrix(k: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Build the matrix that moves every sinusoidal code k positions on.

    Args:
        k: how many positions; negative moves back.
        d_model: width of a code, even.
        base: the base of the codes.

    Returns:
        matrix (d_model, d_model) with PE(t+k) = matrix @ PE(t) for every t.
    """
    column = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = k * base ** (-column / d_model)  # how far each clock turns
    cos, sin = angles.cos(), angles.sin()
    turns = torch.stack([cos, sin, -sin, cos], dim=-1).view(-1, 2, 2)
    return torch.block_diag(*turns).to(torch.get_default_dtype())


@expects(x="... seq d", positions="int: seq")
@also.expects(odd_width)
def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of components by an angle that grows with position (RoPE).

    Args:
        x: queries or keys (..., seq, d), d even.
        positions: int64 (seq,), the position of each vector, in any order.
        base: frequencies are base^(-2i/d), from 1 down.

    Returns:
        rotated (..., seq, d). The pair (a, b) at (2i, 2i+1) becomes
        (a·cos θ - b·sin θ, a·sin θ + b·cos θ), θ = position·base^(-2i/d).
    """
    d = x.shape[-1]
    precise = torch.promote_types(x.dtype, torch.float32)  # bfloat16 has no 257
    column = torch.arange(0, d, 2, dtype=precise, device=x.device)  # 2i
    angles = positions[:, None] * base ** (-column / d)  # (seq, d / 2)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


@expects(x="... seq d", positions="int: seq")
@also.expects(not_a_speed_a_pair)
def turn(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    """Turn each pair of components by its own speed times the position: `rotate` with the speeds handed over.

    `rotate(x, positions, base)` is `turn(x, positions, base ** (-2i/d))`. Not an exercise: chapter 17 hands out other
    speeds than those of a base. Angles are float64, so that a position of a million has the angle it should have.

    Args:
        x: queries or keys (..., seq, d), d even.
        positions: int64 (seq,), the position of each vector, in any order.
        frequencies: radians a position (d/2,), the speed of each pair (2i, 2i+1).

    Returns:
        turned (..., seq, d), in the dtype of x.
    """
    exact = torch.float32 if x.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    angles = positions[:, None].to(exact) * frequencies.to(exact)  # (seq, d / 2)
    precise = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.cos().to(precise), angles.sin().to(precise)
    a, b = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


@expects(q="... query d", k="... key d", table="rows d")
@also.expects(even_table)
def relative_scores(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """Score every key by its content and by how far it is from the query.

    Args:
        q: queries (..., query, d), at positions 0, 1, 2, …
        k: keys (..., key, d), at positions 0, 1, 2, …
        table: a vector for each distance (2m+1, d), from -m to m.

    Returns:
        scores (..., query, key), unscaled. For query i and key j:
        q_i·k_j + q_i·table[clip(i-j, -m, m) + m].
    """
    m = table.shape[0] // 2
    query = torch.arange(q.shape[-2], device=q.device)
    key = torch.arange(k.shape[-2], device=q.device)
    rows = (query[:, None] - key).clamp(-m, m) + m  # (query, key)
    by_distance = q @ table.T  # (..., query, 2m+1): each distance once
    content = q @ k.transpose(-2, -1)  # (..., query, key)
    return content + by_distance.gather(-1, rows.expand(content.shape))


@expects(distance="int: ...", n_buckets="positive", max_distance="positive")
@also.expects(uneven_buckets)
def relative_bucket(
    distance: Tensor,
    n_buckets: int = 32,
    max_distance: int = 128,
) -> Tensor:
    """Sort distances into buckets: near ones singly, far ones by logarithm (T5).

    Args:
        distance: int64 (...), position of the key minus position of the query.
        n_buckets: a multiple of 4; the second half is for positive distances.
        max_distance: from here on, a side's distances share its last bucket.

    Returns:
        buckets int64 (...), from 0 to n_buckets - 1. On each side, distances
        below n_buckets/4 have a bucket each, and as many buckets divide the
        logarithm from there to max_distance evenly.
    """
    side = n_buckets // 2
    exact = n_buckets // 4  # of each side; as many are left for the rest
    size = distance.abs()
    grown = (size.clamp(min=exact) / exact).log()  # 0 for exact ones
    steps = grown / math.log(max_distance / exact) * exact
    bucket = size.clamp(max=exact) + steps.long()  # rounded down
    return bucket.clamp(max=side - 1) + side * (distance > 0)


@expects(n_heads="positive", length="size")
def alibi_bias(n_heads: int, length: int) -> Tensor:
    """Make keys cost more the further back they are, in each head (ALiBi).

    Args:
        n_heads: number of heads n; head h = 1 … n has the slope 2^(-8h/n).
        length: number of queries and of keys.

    Returns:
        bias (head, query, key), to be added to scores: -slope·(i-j) for key
        j ≤ query i, and -inf for later keys.
    """
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)  # (head,)
    position = torch.arange(length)
    steps_back = position[:, None] - position  # (query, key)
    bias = -slopes[:, None, None] * steps_back
    return bias.masked_fill(steps_back < 0, -math.inf)


@also.expects(one_string)
def piece_kinds(pieces: list[str]) -> Tensor:
    """Tell whole words from pieces; a leading ## marks a piece that goes on.

    Args:
        pieces: the pieces of a text in order; may be empty.

    Returns:
        kinds int64 (len(pieces),): 0 a whole word, 1 the first piece of a
        split word, 2 a later piece, even in first place.
    """
    later = torch.tensor([p.startswith("##") for p in pieces], dtype=torch.bool)
    next_is_later = F.pad(later, (0, 1))[1:]  # nothing follows the last piece
    return torch.where(later, 2, next_is_later.long())
