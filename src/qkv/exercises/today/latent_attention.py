"""The exercise `latent_attention`."""

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
from qkv.exercises.cost.shared import Largest, noting_the_largest
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.today import latent_attention

exercise = Exercise(
    latent_attention,
    section="A latent cache",
    minutes=15,
    difficulty=3,
    why="The attention of DeepSeek's models: one short vector a word is all that has to be remembered, for all heads.",
    hints=[
        "Write it out first, for one head: keys latent @ w_kᵀ, scores q @ keysᵀ. Which two matrices are side by side?",
        "(q, w_k l) = (w_kᵀ q, l): the matrix may go to the query, of which there are few, instead of to every key.",
        "A weighted mean of w_v l is w_v times the weighted mean of l.",
        "The turned part has scores of its own, which are added. k_turned has no heads: where does a size of 1 go?",
        "New position i of `new` is position key - new + i of all. Which keys may it see?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)

KEYS, WIDE = 256, 256  # of the probe on memory: a key of one head for every position has KEYS · WIDE entries


def inputs(*sizes: int, std: float = 1.0) -> tuple[Tensor, ...]:
    """Drawn arguments, of sizes batch, head, new, key, d_k, d_v, rank, d_r."""
    batch, head, new, key, d_k, d_v, rank, d_r = sizes
    return (
        normal(batch, head, new, d_k, seed="q", std=std),
        normal(batch, key, rank, seed="latent"),
        normal(head, d_k, rank, seed="w_k", std=1 / math.sqrt(rank)),
        normal(head, d_v, rank, seed="w_v", std=1 / math.sqrt(rank)),
        normal(batch, head, new, d_r, seed="q turned", std=std),
        normal(batch, key, d_r, seed="k turned"),
    )


def attended(latent_attention: Any, *sizes: int, std: float = 1.0) -> Seen:
    return {"output": latent_attention(*inputs(*sizes, std=std))}


@exercise.probe
def several_new_words(latent_attention: Any) -> Seen:
    """several new words after a few old ones; every size differs"""
    new, more, d_k, d_v, rank, d_r = distinct(2, 10, 6, seed="sizes")
    return attended(latent_attention, 2, 3, new, new + more, d_k, d_v, rank, d_r, std=1.5)


@exercise.probe
def a_whole_text(latent_attention: Any) -> Seen:
    """as many new words as keys, as many heads as sequences"""
    new, d_k, d_v, rank, d_r = distinct(3, 10, 5, seed="sizes")
    return attended(latent_attention, 2, 2, new, new, d_k, d_v, rank, d_r, std=1.5)


@exercise.probe
def one_new_word(latent_attention: Any) -> Seen:
    """one new word after many"""
    key, d_k, d_v, rank, d_r = distinct(3, 12, 5, seed="sizes")
    return attended(latent_attention, 3, 4, 1, key, d_k, d_v, rank, d_r, std=1.5)


@exercise.probe
def nothing_turned(latent_attention: Any) -> Seen:
    """d_r = 0: no part is turned"""
    new, more, d_k, d_v, rank = distinct(2, 9, 5, seed="sizes")
    return attended(latent_attention, 2, 3, new, new + more, d_k, d_v, rank, 0, std=1.5)


@exercise.probe
def all_of_one_width(latent_attention: Any) -> Seen:
    """d_k, d_v, rank and d_r alike, so that matrices could be exchanged or turned over"""
    new, d = distinct(3, 8, 2, seed="sizes")
    return attended(latent_attention, 2, 3, new, new + 2, d, d, d, d, std=1.5)


@exercise.probe
def loud_queries(latent_attention: Any) -> Seen:
    """scores of some hundreds"""
    new, d_k, rank, d_r = distinct(3, 9, 4, seed="sizes")
    return attended(latent_attention, 2, 2, new, new + 3, d_k, 4, rank, d_r, std=200.0)


@exercise.probe
def sizes_of_one(latent_attention: Any) -> Seen:
    """sizes of 1: each of them, and all"""
    new, d_k, d_v, rank, d_r = distinct(2, 8, 5, seed="sizes")
    usually = [2, 3, new, new + 3, d_k, d_v, rank, d_r]
    names = ("batch", "head", "new", "d_k", "d_v", "rank", "d_r")
    seen: Seen = {}
    for i, name in zip((0, 1, 2, 4, 5, 6, 7), names, strict=True):
        sizes = [1 if j == i else size for j, size in enumerate(usually)]
        seen[f"output, one {name}"] = latent_attention(*inputs(*sizes))
    return seen | {"output, all 1": latent_attention(*inputs(1, 1, 1, 1, 1, 1, 1, 1))}


@exercise.property
@noting_the_largest
def no_key_is_made(latent_attention: Any, largest: Largest) -> Seen:
    """many keys, and heads much wider than the latents

    Your values are right, but on the way you make the keys or the values of a head, one for each position. They are
    what a latent cache is there to avoid: let w_k meet the query, and w_v the mean.
    """
    with largest:
        latent_attention(*inputs(1, 8, 1, KEYS, WIDE, WIDE, 12, 4))
    return {"no tensor is as large as the keys of one head": largest.entries < KEYS * WIDE}


def usual_inputs() -> tuple[Tensor, ...]:
    return inputs(2, 3, whole(3, 5, seed="usual new"), 6, 5, 4, 7, 2)


def of_one_shape() -> tuple[Tensor, ...]:
    return inputs(3, 3, 3, 3, 3, 3, 3, 3)


usual(exercise, usual_inputs, alike=of_one_shape)


def to_latents(q: Tensor, w_k: Tensor) -> Tensor:
    return q @ w_k


def both_parts(asked: Tensor, latent: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    return asked @ latent.mT.unsqueeze(1) + q_turned @ k_turned.mT.unsqueeze(1)


def both_widths(d_k: int, d_r: int, rank: int) -> float:
    return math.sqrt(d_k + d_r)


def later_ones(new: int, key: int, device: Any) -> Tensor:
    return torch.ones(new, key, dtype=torch.bool, device=device).triu(key - new + 1)


def over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def out_of_the_mean(weights: Tensor, latent: Tensor, w_v: Tensor) -> Tensor:
    return weights @ latent.unsqueeze(1) @ w_v.mT


@exercise.assembled
def latent_in_steps(
    q: Tensor,
    latent: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    q_turned: Tensor,
    k_turned: Tensor,
    *,
    ask: Any = to_latents,
    score: Any = both_parts,
    scale: Any = both_widths,
    hides: Any = later_ones,
    weigh: Any = over_keys,
    fetch: Any = out_of_the_mean,
) -> Tensor:
    scores = score(ask(q, w_k), latent, q_turned, k_turned) / scale(q.shape[-1], k_turned.shape[-1], w_k.shape[-1])
    hidden = hides(q.shape[2], latent.shape[1], q.device)
    found: Tensor = fetch(weigh(scores.masked_fill(hidden, -math.inf)), latent, w_v)
    return found


@exercise.instead_of("ask")
def first_head_for_all(q: Tensor, w_k: Tensor) -> Tensor:
    """Every head asks with the w_k of the first.

    Heads share the latents and the turned keys; w_k is each head's own.
    """
    return q @ w_k[:1]


@exercise.instead_of("ask")
def turned_over(q: Tensor, w_k: Tensor) -> Tensor:
    """You multiply the query by w_k transposed.

    A key is w_k @ latent, so a query meets w_k on the other side: the products run over d_k, and rank is left.
    """
    return q @ w_k.mT


@exercise.instead_of("score")
def turned_part_forgotten(asked: Tensor, latent: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """The turned parts have no influence on your scores.

    They are all that these heads know about positions. Their dot product is added.
    """
    return asked @ latent.mT.unsqueeze(1)


@exercise.instead_of("score")
def turned_part_alone(asked: Tensor, latent: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """Your scores come from the turned parts alone.

    What a word is about stands in its latent; both parts' dot products are added.
    """
    return q_turned @ k_turned.mT.unsqueeze(1)


@exercise.instead_of("score")
def parts_multiplied(asked: Tensor, latent: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """You multiply the two parts' scores.

    A dot product of vectors that stand side by side is the *sum* of the dot products.
    """
    return (asked @ latent.mT.unsqueeze(1)) * (q_turned @ k_turned.mT.unsqueeze(1))


@exercise.instead_of("score")
def parts_subtracted(asked: Tensor, latent: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """You subtract the turned part's scores.

    A dot product of vectors that stand side by side is the sum of the dot products.
    """
    return asked @ latent.mT.unsqueeze(1) - q_turned @ k_turned.mT.unsqueeze(1)


@exercise.instead_of("scale")
def by_the_first_part(d_k: int, d_r: int, rank: int) -> float:
    """You divide by the root of d_k alone.

    A score sums over d_k + d_r products: the turned part belongs to the vector as well.
    """
    return math.sqrt(d_k)


@exercise.instead_of("scale")
def by_what_is_multiplied(d_k: int, d_r: int, rank: int) -> float:
    """You divide by the root of rank + d_r, the widths that you multiply.

    How the product is computed does not change what it is: a dot product of d_k + d_r components.
    """
    return math.sqrt(rank + d_r)


@exercise.instead_of("scale")
def not_scaled(d_k: int, d_r: int, rank: int) -> float:
    """You do not divide the scores by the root of d_k + d_r.

    They are dot products of that many components, as ever.
    """
    return 1.0


@exercise.instead_of("scale")
def without_the_root(d_k: int, d_r: int, rank: int) -> float:
    """You divide by d_k + d_r, not by its root.

    The spread of a dot product grows with the root of its width.
    """
    return d_k + d_r


@exercise.instead_of("scale")
def by_two_roots(d_k: int, d_r: int, rank: int) -> float:
    """You divide by the sum of the two roots.

    It is the root of the sum: the two parts are one vector.
    """
    return math.sqrt(d_k) + math.sqrt(d_r)


@exercise.instead_of("hides")
def nothing_hidden(new: int, key: int, device: Any) -> Tensor:
    """Where several words are new, each sees all of them, later ones too.

    With one new word nothing has to be hidden. With several, the later ones are the future.
    """
    return torch.zeros(new, key, dtype=torch.bool, device=device)


@exercise.instead_of("hides")
def triangle_not_shifted(new: int, key: int, device: Any) -> Tensor:
    """Your triangle is not shifted by the past: the first new word sees the first key only.

    New word i is number key - new + i of all, and sees the keys up to itself.
    """
    return torch.ones(new, key, dtype=torch.bool, device=device).triu(1)


@exercise.instead_of("hides")
def one_ahead(new: int, key: int, device: Any) -> Tensor:
    """Each new word sees the one after it: your triangle is off by one.

    It sees the keys up to itself.
    """
    return torch.ones(new, key, dtype=torch.bool, device=device).triu(key - new + 2)


@exercise.instead_of("hides")
def itself_hidden(new: int, key: int, device: Any) -> Tensor:
    """A new word does not see itself.

    It sees the keys up to itself, its own included. The first word of a text would see nothing, and that is NaN.
    """
    return torch.ones(new, key, dtype=torch.bool, device=device).triu(key - new)


@exercise.instead_of("weigh")
def over_new_words(scores: Tensor) -> Tensor:
    """Your softmax runs over the new words.

    Each of them shares 1 among the keys: that is the last dimension.
    """
    return scores.exp().nan_to_num(posinf=1e30) / scores.exp().sum(-2, keepdim=True)


@exercise.instead_of("weigh")
def exponentials(scores: Tensor) -> Tensor:
    """Your softmax is not stable: large scores become infinity divided by infinity.

    Subtract the largest score first, or take the softmax that torch has; it is allowed here.
    """
    powers = scores.exp()
    return powers / powers.sum(-1, keepdim=True)


@exercise.instead_of("fetch")
def latents_fetched(weights: Tensor, latent: Tensor, w_v: Tensor) -> Tensor:
    """You return means of latents: w_v is missing.

    The mean of values is w_v times the mean of latents.
    """
    return weights @ latent.unsqueeze(1)


@exercise.instead_of("fetch")
def one_w_v_for_all(weights: Tensor, latent: Tensor, w_v: Tensor) -> Tensor:
    """Every head reads its mean with the w_v of the first.

    Heads share the latents; w_v is each head's own.
    """
    return weights @ latent.unsqueeze(1) @ w_v[:1].mT


@exercise.instead_of("fetch")
def w_v_turned_over(weights: Tensor, latent: Tensor, w_v: Tensor) -> Tensor:
    """You multiply the mean by w_v where it has to be w_v transposed.

    A value is w_v @ latent, with w_v (d_v, rank). Of rows of latents it makes rows of values as latent @ w_vᵀ.
    """
    return weights @ latent.unsqueeze(1) @ w_v


@exercise.instead_of("fetch")
def heads_joined(weights: Tensor, latent: Tensor, w_v: Tensor) -> Tensor:
    """You return the heads side by side, (batch, new, head · d_v).

    Asked for is (batch, head, new, d_v); they are joined by whoever projects them.
    """
    return out_of_the_mean(weights, latent, w_v).transpose(1, 2).flatten(2)


@exercise.misconception
def matrices_exchanged(
    q: Tensor, latent: Tensor, w_k: Tensor, w_v: Tensor, q_turned: Tensor, k_turned: Tensor
) -> Tensor:
    """You ask with w_v and fetch with w_k.

    w_k makes keys, which meet the query; w_v makes values.
    """
    return latent_attention(q, latent, w_v, w_k, q_turned, k_turned)


@exercise.misconception
def written_out(q: Tensor, latent: Tensor, w_k: Tensor, w_v: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """Your values are right, but you make the keys or the values that a latent cache is there to avoid.

    At 10,000 words the keys of 128 heads of width 128 are 164 million numbers, latents of width 512 some five
    million. Move the brackets, on both sides: (q, w_k l) = (w_kᵀ q, l), and Σ a·(w_v l) = w_v Σ a·l.
    """
    keys = latent.unsqueeze(1) @ w_k.mT
    scores = (q @ keys.mT + q_turned @ k_turned.mT.unsqueeze(1)) / both_widths(q.shape[-1], q_turned.shape[-1], 0)
    weights = scores.masked_fill(later_ones(q.shape[2], latent.shape[1], q.device), -math.inf).softmax(-1)
    return weights @ (latent.unsqueeze(1) @ w_v.mT)


@exercise.misconception
def weights_held(q: Tensor, latent: Tensor, w_k: Tensor, w_v: Tensor, q_turned: Tensor, k_turned: Tensor) -> Tensor:
    """Your values are right, but no gradient passes through the weights of the keys.

    They leave the graph on the way. Queries, w_k and the turned parts learn through them alone.
    """
    return latent_in_steps(q, latent, w_k, w_v, q_turned, k_turned, weigh=lambda scores: scores.softmax(-1).detach())


squeezes(exercise)
