"""The exercise `cached_attention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    cached_attention,
)

exercise = Exercise(
    cached_attention,
    section="The cache",
    minutes=10,
    difficulty=2,
    why="With it a language model writes a token without reading everything again.",
    hints=[
        "What do the new queries look at? The old keys and the new ones, in this order: join them along the positions.",
        "New position i of a call with `past` positions in the cache is position past + i. Which keys may it see?",
        "With 6 heads and 2 groups, heads 0, 1, 2 read group 0. Write the list of groups for heads 0 … 5, then find "
        "the function that repeats entries in this way.",
        "Return what was joined, before it is repeated for the heads: the cache is small because groups are few.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def new_positions(
    new: int, heads: int, groups: int, d_k: int, d_v: int, batch: int = 2, name: str = "new"
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(batch, heads, new, d_k, seed=f"{name} q"),
        normal(batch, groups, new, d_k, seed=f"{name} k"),
        normal(batch, groups, new, d_v, seed=f"{name} v"),
    )


def with_a_past(past: int, new: int, heads: int, groups: int, d_k: int, d_v: int, batch: int = 2) -> tuple[Any, ...]:
    cache = new_positions(past, heads, groups, d_k, d_v, batch, "past")[1:]
    return *new_positions(new, heads, groups, d_k, d_v, batch), cache


def attended(result: Any) -> Seen:
    output, (keys, values) = result
    return {"output": output, "keys": keys, "values": values}


def some_past() -> tuple[Any, ...]:
    """Six heads in two groups, or in three."""
    past, new, d_k, d_v = distinct(3, 8, 4, seed="sizes")
    return with_a_past(past, new, 6, whole(2, 4, seed="groups"), d_k, d_v)


@exercise.probe
def several_at_once(cached_attention: Any) -> Seen:
    """several new positions after a few old ones, heads in groups"""
    return attended(cached_attention(*some_past()))


@exercise.probe
def the_very_first(cached_attention: Any) -> Seen:
    """several new positions and no cache"""
    new, d_k, d_v = distinct(3, 8, 3, seed="sizes")
    return attended(cached_attention(*new_positions(new, 6, 2, d_k, d_v, 3)))


@exercise.probe
def one_at_a_time(cached_attention: Any) -> Seen:
    """a text that grows by one, two and one position"""
    d_k, d_v = distinct(3, 8, 2, seed="sizes")
    cache, outputs = None, []
    for turn, new in enumerate((1, 2, 1)):
        output, cache = cached_attention(*new_positions(new, 4, 2, d_k, d_v, 1, f"turn {turn}"), cache)
        outputs.append(output)
    keys, values = cache  # type: ignore[misc]
    return {"output": torch.cat(outputs, 2), "keys": keys, "values": values}


@exercise.probe
def an_empty_cache(cached_attention: Any) -> Seen:
    """a cache of no position"""
    new, d_k, d_v = distinct(2, 7, 3, seed="sizes")
    return attended(cached_attention(*with_a_past(0, new, 4, 2, d_k, d_v)))


@exercise.probe
def each_its_own(cached_attention: Any) -> Seen:
    """as many groups as heads, and a single group for all"""
    past, new, d_k = distinct(2, 6, 3, seed="sizes")
    own = attended(cached_attention(*with_a_past(past, new, 3, 3, d_k, 2)))
    shared = attended(cached_attention(*with_a_past(new, past, 4, 1, d_k, 3)))
    return {**own, **{f"{name} of a single group": value for name, value in shared.items()}}


@exercise.probe
def one_of_everything(cached_attention: Any) -> Seen:
    """every size 1, with and without a cache"""
    first = attended(cached_attention(*new_positions(1, 1, 1, 1, 1, 1)))
    second = attended(cached_attention(*with_a_past(1, 1, 1, 1, 1, 1, 1)))
    return {**second, **{f"first {name}": value for name, value in first.items()}}


def of_one_shape() -> tuple[Any, ...]:
    q, k, v = new_positions(4, 4, 4, 4, 4, 4)
    return q, k, v, (normal(4, 4, 4, 4, seed="past k"), normal(4, 4, 4, 4, seed="past v"))


usual(exercise, some_past, alike=of_one_shape)


def old_then_new(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return (k, v) if cache is None else (torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2))


def shifted_triangle(new: int, seen: int, device: Any) -> Tensor:
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new + 1)


def at_minus_infinity(scores: Tensor, hidden: Tensor) -> Tensor:
    return scores.masked_fill(hidden, -math.inf)


def neighbours_share(x: Tensor, heads: int) -> Tensor:
    return x.repeat_interleave(heads // x.shape[1], dim=1)


def width_of_q(q: Tensor, v: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def joined(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    return pair


@exercise.assembled
def cached_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: Any = None,
    *,
    join: Any = old_then_new,
    hides: Any = shifted_triangle,
    hide: Any = at_minus_infinity,
    expand: Any = neighbours_share,
    scale: Any = width_of_q,
    keep: Any = joined,
) -> Any:
    pair = join(cache, k, v)
    keys, values = (expand(t, q.shape[1]) for t in pair)
    scores = q @ keys.mT / scale(q, v)
    scores = hide(scores, hides(q.shape[2], keys.shape[2], q.device))
    return scores.softmax(-1) @ values, keep(pair, (keys, values), cache, k, v)


@exercise.instead_of("expand")
def groups_dealt_out(x: Tensor, heads: int) -> Tensor:
    """You deal the groups out in turn: head 0 reads group 0, head 1 group 1, and so on round.

    `repeat` puts copies of the whole one after the other. Here neighbouring heads share a group, so each group stands
    several times in a row.
    """
    return x.repeat(1, heads // x.shape[1], 1, 1)


@exercise.instead_of("expand")
def first_group_for_all(x: Tensor, heads: int) -> Tensor:
    """Every head reads the first group.

    Head h reads group h // (heads / groups).
    """
    return x[:, :1].expand(-1, heads, -1, -1)


@exercise.instead_of("expand")
def groups_averaged(x: Tensor, heads: int) -> Tensor:
    """Every head reads the average of all groups.

    Groups have keys and values of their own; only the heads of one group share them.
    """
    return x.mean(1, keepdim=True).expand(-1, heads, -1, -1)


@exercise.instead_of("hides")
def triangle_not_shifted(new: int, seen: int, device: Any) -> Tensor:
    """Your triangle is not shifted by the past: new position 0 sees the first key only.

    New position i is position past + i of the text. It sees the whole cache, and the new ones up to itself.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(1)


@exercise.instead_of("hides")
def new_ones_unmasked(new: int, seen: int, device: Any) -> Tensor:
    """Where several positions are new, each sees all of them, later ones too.

    With one new position nothing has to be hidden. With several, the later ones are the future.
    """
    return torch.zeros(new, seen, dtype=torch.bool, device=device)


@exercise.instead_of("hides")
def one_position_ahead(new: int, seen: int, device: Any) -> Tensor:
    """Each new position sees the one after it: your triangle is off by one.

    New position i sees the new positions 0 … i.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new + 2)


@exercise.instead_of("hides")
def own_position_hidden(new: int, seen: int, device: Any) -> Tensor:
    """A new position does not see itself.

    It sees the cache and the new positions up to itself. Without a cache the first one sees nothing, and that is NaN.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new)


@exercise.instead_of("hides")
def past_hidden(new: int, seen: int, device: Any) -> Tensor:
    """A new position sees the new ones, but not the cache.

    The cache is there to be looked at: all of it is the past.
    """
    hidden = shifted_triangle(new, seen, device)
    hidden[:, : seen - new] = True
    return hidden


@exercise.instead_of("hide")
def hidden_at_zero(scores: Tensor, hidden: Tensor) -> Tensor:
    """You give hidden keys the score 0, so that they get weight all the same.

    e^0 is 1, which is more than a key with a negative score gets. Only the score -inf becomes a weight of exactly 0.
    """
    return scores.masked_fill(hidden, 0)


@exercise.instead_of("join")
def new_before_old(cache: Any, k: Tensor, v: Tensor) -> Any:
    """You put the new keys and values before the old ones.

    Positions are in the order of the text: first what was there, then what is new.
    """
    return (k, v) if cache is None else (torch.cat([k, cache[0]], 2), torch.cat([v, cache[1]], 2))


@exercise.instead_of("join")
def cache_not_used(cache: Any, k: Tensor, v: Tensor) -> Any:
    """You do not use the cache.

    The new positions see each other only, as if the text began with them.
    """
    return k, v


@exercise.instead_of("keep")
def only_new_ones_kept(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return holds the new positions only.

    The next call needs all positions so far: return the old ones and the new ones together.
    """
    return k, v


@exercise.instead_of("keep")
def kept_for_each_head(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return is expanded to all heads.

    Then groups save nothing, and the next call would expand it once more. Keep it as it is, with one entry for each
    group.
    """
    return expanded


@exercise.instead_of("keep")
def given_cache_returned(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """You return the cache that you were given, without the new positions.

    The next call would not know them.
    """
    return (k, v) if cache is None else cache


@exercise.instead_of("keep")
def values_first(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return is (values, keys).

    The pair is keys first, then values.
    """
    return pair[1], pair[0]


@exercise.instead_of("scale")
def scores_not_scaled(q: Tensor, v: Tensor) -> float:
    """You do not divide the scores by the root of d_k.

    A cache changes what is computed again, not what is computed.
    """
    return 1.0


@exercise.instead_of("scale")
def scaled_by_all_heads(q: Tensor, v: Tensor) -> float:
    """You divide the scores by the root of the width of all heads together.

    A score sums over the d_k components of one head.
    """
    return math.sqrt(q.shape[1] * q.shape[-1])


@exercise.misconception
def cache_changed(q: Tensor, k: Tensor, v: Tensor, cache: Any = None) -> Any:
    """Your values are right, but you change the cache that you were given.

    Whoever has it may want to go on from there twice, as a beam search does. Make new tensors.
    """
    output, pair = cached_attention(q, k, v, cache)
    if cache is not None:
        with torch.no_grad():
            for old, whole_one in zip(cache, pair, strict=True):
                old.copy_(whole_one[:, :, -old.shape[2] :] if old.shape[2] else old)
    return output, pair


squeezes(exercise)
