"""The exercise `window_attention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.cost.shared import many, qkv, stays_small
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    window_attention,
)

exercise = Exercise(
    window_attention,
    section="A window",
    minutes=15,
    difficulty=2,
    why="A mask hides what was computed; only what is never made is saved.",
    hints=[
        "Write down by hand which keys query 5 sees with window 3 and dilation 2. Is 5 among them?",
        "Gather, for each query, its few keys: a tensor of indices (n, window) can pick (..., n, window, d_k) from k.",
        "Where the index is below 0 there is no key. Which score takes such a place out of the softmax?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def windowed(window: int, dilation: int = 1, *leading: int, more: int = 0) -> tuple[Any, ...]:
    """A sequence that is longer than its window, all sizes different."""
    n, d_k, d_v = distinct(window + 2, window + 8, 3, seed=f"sizes {window} {dilation} {more}")
    return *qkv(n + more, n + more, d_k, d_v, *leading), window, dilation


@exercise.probe
def a_few_keys(window_attention: Any) -> Seen:
    """a window of three or four keys"""
    return {"output": window_attention(*windowed(whole(3, 5, seed="window"), 1, 2)[:4])}


@exercise.probe
def every_other_key(window_attention: Any) -> Seen:
    """a window with a dilation of two or three"""
    dilation = whole(2, 4, seed="dilation")
    return {"output": window_attention(*windowed(3, dilation, 2, more=dilation))}


@exercise.probe
def beyond_the_beginning(window_attention: Any) -> Seen:
    """a window that reaches beyond the first position"""
    n, window, dilation = whole(4, 7, seed="n"), whole(8, 12, seed="wide"), whole(2, 5, seed="step")
    last_sees_the_first = qkv(2 * dilation + 1, 2 * dilation + 1, 3, 2)
    return {
        "wide": window_attention(*qkv(n, n, 3, 2), window),
        "dilated": window_attention(*last_sees_the_first, window, dilation),
        "with steps beyond the beginning": window_attention(*qkv(n, n, 3, 2), 3, n - 3 + dilation),
    }


@exercise.probe
def a_window_of_one(window_attention: Any) -> Seen:
    """a window of one key"""
    return {"output": window_attention(*windowed(1, whole(1, 4, seed="any"), 3))}


@exercise.probe
def in_two_dimensions(window_attention: Any) -> Seen:
    """two leading dimensions, and sizes of 1"""
    n, d_v = distinct(4, 8, 2, seed="sizes")
    return {"output": window_attention(*qkv(n, n, 1, d_v, 2, 3), 2, whole(1, 3, seed="dilation"))}


@exercise.probe
def a_single_token(window_attention: Any) -> Seen:
    """a sequence of one position, every size 1"""
    return {"output": window_attention(*qkv(1, 1, 1, 1), whole(1, 5, seed="window"))}


@exercise.property
def no_matrix_of_pairs(window_attention: Any) -> Seen:
    """a long sequence under a short window

    Your values are right, but on the way you make a tensor with an entry for each pair of positions. Then a window
    saves nothing: at 10,000 positions that is 400 MB for one head. Gather the few keys of each query instead.
    """
    return stays_small(window_attention, *qkv(many(), many(), 4, 3), 5, 2)


usual(exercise, lambda: windowed(3, 2, 2, more=3), alike=lambda: (*qkv(6, 6, 6, 6), 3))


def keys_behind(n: int, window: int, dilation: int, device: Any) -> tuple[Tensor, Tensor]:
    seen = torch.arange(n, device=device)[:, None] - dilation * torch.arange(window, device=device)
    return seen.clamp(min=0), seen < 0


def root_of_the_width(q: Tensor, v: Tensor, window: int) -> float:
    return math.sqrt(q.shape[-1])


def hidden_before(scores: Tensor, hidden: Tensor) -> Tensor:
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@exercise.assembled
def window_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    window: int,
    dilation: int = 1,
    *,
    look: Any = keys_behind,
    scale: Any = root_of_the_width,
    weigh: Any = hidden_before,
) -> Tensor:
    seen, hidden = look(q.shape[-2], window, dilation, q.device)
    scores = (q.unsqueeze(-2) * k[..., seen, :]).sum(-1) / scale(q, v, window)
    return (weigh(scores, hidden).unsqueeze(-1) * v[..., seen, :]).sum(-2)


def places(n: int, steps: Tensor, device: Any) -> tuple[Tensor, Tensor]:
    """Keys at these steps from each query, and which of them do not exist."""
    seen = torch.arange(n, device=device)[:, None] + steps.to(device)
    return seen.clamp(0, n - 1), (seen < 0) | (seen >= n)


@exercise.instead_of("look")
def both_sides(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window lies around the query; it should lie before it.

    Half of it is the future then. Here a query sees itself and what came before.
    """
    return places(n, dilation * (torch.arange(window) - window // 2), device)


@exercise.instead_of("look")
def a_radius(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window has one key too many: it sees `window` keys beside itself.

    `window` counts all visible keys, the query's own included. Some libraries call the reach by that word, without the
    query's own: look it up before you take a number over.
    """
    return keys_behind(n, window + 1, dilation, device)


@exercise.instead_of("look")
def itself_left_out(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your queries do not see their own position.

    The window begins with the position itself. Without it the first query sees nothing, and its output is NaN.
    """
    return places(n, -dilation * torch.arange(1, window + 1), device)


@exercise.instead_of("look")
def dilation_ignored(n: int, window: int, dilation: int, device: Any) -> Any:
    """You do not use `dilation`.

    It is the step from one visible key to the next: with 2, every other key is seen.
    """
    return keys_behind(n, window, 1, device)


@exercise.instead_of("look")
def a_wider_window(n: int, window: int, dilation: int, device: Any) -> Any:
    """You see every key as far back as the dilated window reaches.

    A dilated window has gaps: it reaches further, but the number of keys stays.
    """
    return keys_behind(n, window * dilation, 1, device)


@exercise.instead_of("look")
def window_as_a_reach(n: int, window: int, dilation: int, device: Any) -> Any:
    """With a dilation you see fewer keys, because you take the window for a distance.

    `window` counts keys. Dilation moves them apart, it does not remove any.
    """
    return places(n, -torch.arange(0, window, dilation), device)


@exercise.instead_of("look")
def in_the_future(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window lies after the query, in the future.

    Query i sees i - dilation·m, not i + dilation·m.
    """
    return places(n, dilation * torch.arange(window), device)


@exercise.instead_of("look")
def first_key_again_and_again(n: int, window: int, dilation: int, device: Any) -> Any:
    """Where the window reaches beyond the beginning, you count the first key again and again.

    Clamping an index is not enough: the place has to be hidden from the softmax as well.
    """
    seen, hidden = keys_behind(n, window, dilation, device)
    return seen, torch.zeros_like(hidden)


@exercise.instead_of("look")
def goes_on_at_the_end(n: int, window: int, dilation: int, device: Any) -> Any:
    """Where the window reaches beyond the beginning, it goes on at the end of the sequence.

    A negative index counts from the end in Python, and `roll` goes round in a circle. These keys are the future.
    """
    seen = torch.arange(n, device=device)[:, None] - dilation * torch.arange(window, device=device)
    return seen.remainder(n), torch.zeros_like(seen, dtype=torch.bool)


@exercise.instead_of("scale")
def not_scaled(q: Tensor, v: Tensor, window: int) -> float:
    """You do not divide the scores by the root of d_k.

    A window changes who is seen, not how scores are made.
    """
    return 1.0


@exercise.instead_of("scale")
def scaled_by_the_window(q: Tensor, v: Tensor, window: int) -> float:
    """You divide the scores by the root of the window.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(window)


@exercise.instead_of("scale")
def root_forgotten(q: Tensor, v: Tensor, window: int) -> float:
    """You divide the scores by d_k; its root is missing.

    The standard deviation of a dot product grows with the root of d_k.
    """
    return float(q.shape[-1])


@exercise.instead_of("weigh")
def hidden_afterwards(scores: Tensor, hidden: Tensor) -> Tensor:
    """You hide what does not exist after the softmax, so the first rows no longer sum to 1.

    The places before the beginning have already taken their share.
    """
    return scores.softmax(-1) * ~hidden


@exercise.instead_of("weigh")
def empty_places_score_zero(scores: Tensor, hidden: Tensor) -> Tensor:
    """Places before the beginning have the score 0 and the value 0, so the first rows are too small.

    A row of zeros, from padding, is an ordinary key for the softmax: 0 is a score like any other.
    """
    return scores.masked_fill(hidden, 0.0).softmax(-1) * ~hidden


@exercise.misconception
def every_pair(q: Tensor, k: Tensor, v: Tensor, window: int, dilation: int = 1) -> Tensor:
    """Your values are right, but you make a tensor with an entry for each pair of positions and hide most of them.

    Then a window costs as much as no window. Gather the few keys of each query instead.
    """
    n = q.shape[-2]
    back = torch.arange(n, device=q.device)[:, None] - torch.arange(n, device=q.device)
    seen = (back >= 0) & (back < window * dilation) & (back % dilation == 0)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ v


squeezes(exercise)
unpacks(exercise, "q", "batch", "n", "d_k")
