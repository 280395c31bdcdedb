"""The exercise `offset_head`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import number, whole
from proctor.inside.properties import (
    default_dtype,
    follows_default_dtype,
    in_either_default,
    repeats,
)
from proctor.inside.situations import Seen
from qkv.exercises.theory.shared import outline
from qkv.model.theory import (
    offset_head,
)

exercise = Exercise(
    offset_head,
    section="A head that looks back",
    minutes=15,
    difficulty=2,
    why="A head that attends to the previous token is found in most language models; here are its weights.",
    hints=[
        "If the query at i were the code of i - k itself, where would its dot product with the codes be largest?",
        "Chapter 4 has a matrix that moves every code by some positions, and it may move them back.",
        "w_q stands in P @ w_q.T: each row of P, as a column, is multiplied by w_q from the left. The keys may stay "
        "as they are.",
        "beta has to come into the product once: into w_q, into w_k, or its root into both.",
    ],
)


def codes(length: int, d_model: int, base: float) -> Tensor:
    """Sinusoidal codes as `sinusoidal_positions` has them, in float64."""
    frequencies = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def scores_of(results: Any, d_model: int, base: float = 10000.0, length: int = 12) -> Seen:
    """The scores that two matrices give, and of themselves only shape and dtype: right ones have many forms."""
    w_q, w_k = results
    found: Seen = {"w_q": outline(w_q), "w_k": outline(w_k)}
    scores = torch.full((length, length), math.nan, dtype=w_q.dtype)
    if tuple(w_q.shape) == tuple(w_k.shape) == (d_model, d_model):
        positions = codes(length, d_model, base)
        scores = (positions.to(w_q.dtype) @ w_q.T) @ (positions.to(w_k.dtype) @ w_k.T).T
    return found | {"scores": scores}


def even_width(low: int, high: int, *, seed: str) -> int:
    return 2 * whole(low // 2, high // 2, seed=seed)


@exercise.probe
def some_positions_back(offset_head: Any) -> Seen:
    """two to six positions back"""
    d_model = even_width(4, 14, seed="width")
    k, beta = whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@exercise.probe
def some_positions_ahead(offset_head: Any) -> Seen:
    """a negative k: two to six positions ahead"""
    d_model = even_width(4, 14, seed="width")
    k, beta = -whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@exercise.probe
def the_previous_one(offset_head: Any) -> Seen:
    """k = 1, the previous position, with a beta below 1"""
    d_model = even_width(6, 18, seed="width")
    return scores_of(offset_head(1, d_model, number(0.2, 0.6, seed="beta")), d_model)


@exercise.probe
def its_own_place(offset_head: Any) -> Seen:
    """k = 0: every position looks at itself"""
    d_model = even_width(4, 14, seed="width")
    return scores_of(offset_head(0, d_model, number(5.0, 9.0, seed="beta")), d_model)


@exercise.probe
def before_the_beginning(offset_head: Any) -> Seen:
    """a k that is larger than every position"""
    d_model = even_width(4, 14, seed="width")
    k, beta = whole(20, 60, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@exercise.probe
def one_pair_of_waves(offset_head: Any) -> Seen:
    """width 2: a single sine and cosine"""
    return scores_of(offset_head(whole(2, 9, seed="k"), 2, number(1.5, 4.0, seed="beta")), 2)


@exercise.probe
def codes_of_another_base(offset_head: Any) -> Seen:
    """codes of another base"""
    d_model, base = even_width(6, 14, seed="width"), number(20.0, 90.0, seed="base")
    k, beta = whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta, base=base), d_model, base)


exercise.property(repeats(lambda head: [head(2, 4, 1.5), head(-1, 4, 3.0)]))


@exercise.property
def weights_in_the_default_dtype(offset_head: Any) -> Seen:
    """float64 as torch's default dtype

    With float64 as torch's default dtype your weights are neither float64 nor float32, or their scores are not right.
    """
    with default_dtype(torch.float64):
        w_q, w_k = (in_either_default(w) for w in offset_head(2, 4, 1.5))
        seen = scores_of((w_q, w_k), 4)
    return {name: tensor.float() for name, tensor in seen.items()} | {"w_q is float64": w_q.dtype == torch.float64}


def first_of_the_weights(offset_head: Any) -> Tensor:
    return offset_head(2, 4, 1.5)[0]


exercise.remark(follows_default_dtype(first_of_the_weights))


def speeds(d_model: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def turned_back(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2))


def beta_once(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    return beta * back, torch.eye(len(back), dtype=back.dtype)


@exercise.assembled
def offset_in_steps(
    k: int,
    d_model: int,
    beta: float,
    base: float = 10000.0,
    *,
    frequencies: Any = speeds,
    turn: Any = turned_back,
    sharpen: Any = beta_once,
) -> Any:
    weights = sharpen(turn(k * frequencies(d_model, base)), beta)
    return tuple(w.to(torch.get_default_dtype()) for w in weights)


@exercise.instead_of("turn")
def looks_ahead(angles: Tensor) -> Tensor:
    """Your head looks k positions ahead.

    Either the codes are moved by k where it should be -k, or the matrix is made for P @ w_q and is used in P @ w_q.T;
    or it is the keys that are moved back.
    """
    return turned_back(-angles)


@exercise.instead_of("turn")
def offset_without_effect(angles: Tensor) -> Tensor:
    """Your head looks at its own position, whatever k is.

    If queries and keys are moved alike, the distance between them stays. Move one of the two.
    """
    return turned_back(0 * angles)


@exercise.instead_of("turn")
def moved_twice(angles: Tensor) -> Tensor:
    """Your head looks 2k positions back.

    The queries are moved back and the keys on, each by k. Move one of the two.
    """
    return turned_back(2 * angles)


@exercise.instead_of("turn")
def no_minus_in_the_blocks(angles: Tensor) -> Tensor:
    """Both sines in your blocks have the same sign.

    Such a block is no rotation. One of the two addition theorems has a minus.
    """
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, sin, sin, cos], -1).view(-1, 2, 2))


@exercise.instead_of("turn")
def joined_across_the_halves(angles: Tensor) -> Tensor:
    """Your matrix joins component i with i + d_model/2, as if all sines came first.

    In these codes the sine and the cosine of a pair are neighbours, 2i and 2i+1.
    """
    cos, sin = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)], 0)


@exercise.instead_of("frequencies")
def one_speed_for_all(d_model: int, base: float) -> Tensor:
    """All pairs turn by the same angle k.

    Each pair has a speed of its own, that of its codes: k·base^(-2i/d_model).
    """
    return torch.ones(d_model // 2, dtype=torch.float64)


@exercise.instead_of("frequencies")
def half_the_exponent(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model.

    The matrix has to turn each pair as fast as the codes turn.
    """
    return speeds(d_model, base).sqrt()


@exercise.instead_of("frequencies")
def always_ten_thousand(d_model: int, base: float) -> Tensor:
    """You use the base 10000 whatever `base` says.

    Codes of another base turn at other speeds.
    """
    return speeds(d_model, 10000.0)


@exercise.instead_of("frequencies")
def speeds_that_rise(d_model: int, base: float) -> Tensor:
    """Your blocks turn faster with i: a minus in the exponent is missing.

    The first pair is the fastest: base^(-2i/d_model).
    """
    return 1 / speeds(d_model, base)


@exercise.instead_of("sharpen")
def beta_in_both(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """beta is in the queries and in the keys, so the scores have its square.

    It belongs into one of the two, or its root into both.
    """
    return beta * back, beta * torch.eye(len(back), dtype=back.dtype)


@exercise.instead_of("sharpen")
def beta_left_out(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You do not use beta.

    Without it neighbouring positions have nearly the same score, and the softmax averages over all of them.
    """
    return back, torch.eye(len(back), dtype=back.dtype)


@exercise.instead_of("sharpen")
def root_in_one_alone(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Your scores have the root of beta.

    The root belongs into both matrices; into one alone belongs beta itself.
    """
    return math.sqrt(beta) * back, torch.eye(len(back), dtype=back.dtype)


@exercise.instead_of("sharpen")
def divided_by_beta(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You divide by beta: you take it for a temperature.

    A larger beta means a sharper head.
    """
    return back / beta, torch.eye(len(back), dtype=back.dtype)


@exercise.instead_of("sharpen")
def times_the_root_of_the_width(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Your scores are √d_model times too large.

    That would be right if they were divided by it afterwards. Here they are not scaled.
    """
    return beta * math.sqrt(len(back)) * back, torch.eye(len(back), dtype=back.dtype)


@exercise.instead_of("sharpen")
def divided_by_the_root_of_the_width(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You divide by √d_model.

    The scores of this head are not scaled: beta says all about their size.
    """
    return beta / math.sqrt(len(back)) * back, torch.eye(len(back), dtype=back.dtype)


@exercise.misconception
def one_back_whatever_k(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Your head looks one position back, whatever k is.

    k positions turn each pair k times as far as one.
    """
    return offset_head(1, d_model, beta, base)


@exercise.misconception
def back_where_ahead_was_asked(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Where k is negative your head looks back all the same.

    A negative k looks ahead: the pairs turn the other way.
    """
    return offset_head(abs(k), d_model, beta, base)


@exercise.misconception
def components_moved(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """You move the components of a code k places on: ones beside the diagonal.

    That matrix would move one-hot codes. In a sinusoidal code a position is an angle, and moving is turning.
    """
    return beta * torch.roll(torch.eye(d_model), k, 0), torch.eye(d_model)
