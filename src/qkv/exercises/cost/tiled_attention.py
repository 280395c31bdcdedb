"""The exercise `tiled_attention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.cost.shared import many, qkv, stays_small
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    tiled_attention,
)

exercise = Exercise(
    tiled_attention,
    section="Tile by tile",
    minutes=20,
    difficulty=3,
    why="The idea behind flash attention: exact, and the matrix of scores is never there as a whole.",
    hints=[
        "For two tiles: which three numbers of the first must you still know when you have seen the second?",
        "Keep, for each query, the largest score so far, the sum of exp(score - largest), and the values weighed by "
        "the same powers. Divide once, at the end.",
        "When the largest score changes, all that was summed under the old one is off by the same factor. Which?",
        "log Σ exp(s) = m + log Σ exp(s - m), whatever m is.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def both(result: Any) -> Seen:
    output, lse = result
    return {"output": output, "lse": lse}


def a_few_tiles(*leading: int) -> tuple[Any, ...]:
    """Three tiles, of which the last is short."""
    query, d_k, d_v = distinct(2, 6, 3, seed="sizes")
    block = whole(2, 5, seed="block")
    return *qkv(query, 3 * block - 1, d_k, d_v, *leading, std=1.5), block


def a_causal_text(n: int, block: int, *leading: int) -> tuple[Any, ...]:
    return *qkv(n, n, 3, 2, *leading, std=1.5), block, True


@exercise.probe
def three_tiles(tiled_attention: Any) -> Seen:
    """three tiles, the last one short"""
    return both(tiled_attention(*a_few_tiles(2)))


@exercise.probe
def the_past_alone(tiled_attention: Any) -> Seen:
    """a causal sequence in tiles of two or three keys"""
    return both(tiled_attention(*a_causal_text(whole(7, 10, seed="n"), whole(2, 4, seed="block"), 2)))


@exercise.probe
def key_by_key(tiled_attention: Any) -> Seen:
    """tiles of a single key, causal and not, without a leading dimension"""
    query, key, d_k = distinct(3, 8, 3, seed="sizes")
    open_to_all = both(tiled_attention(*qkv(query, key, d_k, 2), 1))
    causal = both(tiled_attention(*a_causal_text(key, 1)))
    return {**open_to_all, "causal output": causal["output"], "causal lse": causal["lse"]}


@exercise.probe
def one_large_tile(tiled_attention: Any) -> Seen:
    """a block as large as the number of keys, and a larger one; two leading dimensions"""
    query, key, d_v = distinct(2, 7, 3, seed="sizes")
    exact = both(tiled_attention(*qkv(query, key, 4, d_v, 2, 3), key))
    larger = both(tiled_attention(*a_causal_text(key, key + whole(1, 9, seed="more"))))
    return {**exact, "causal output": larger["output"], "causal lse": larger["lse"]}


@exercise.probe
def a_single_pair(tiled_attention: Any) -> Seen:
    """one query, one key, every size 1"""
    return both(tiled_attention(*qkv(1, 1, 1, 1), whole(1, 4, seed="block"), True))


def steep(n: int, offset: int) -> tuple[Tensor, Tensor, Tensor]:
    """Scores far apart around an offset, the same for each query; the largest is in the last tile.

    They are whole numbers: float32 has them exactly, so that computing in float32 inside is right here too.
    """
    k = offset + 50 * integers(-40, 40, n, 1, seed="k")
    k[-1] = k[:-1].max() + whole(1, 3, seed="peak")  # close to the one before, so that both have a say
    return torch.ones(n, 1, dtype=torch.float64), k.double(), normal(n, 3, seed="v", dtype=torch.float64)


@exercise.probe
def huge_scores(tiled_attention: Any) -> Seen:
    """scores around 10,000, the largest in the last tile"""
    return both(tiled_attention(*steep(whole(6, 9, seed="n"), 10_000), 2))


@exercise.probe
def scores_far_below_zero(tiled_attention: Any) -> Seen:
    """scores around -10,000, causal and not"""
    q, k, v = steep(whole(6, 9, seed="n"), -10_000)
    causal = both(tiled_attention(q, k, v, 2, True))
    return {**both(tiled_attention(q, k, v, 3)), "causal output": causal["output"], "causal lse": causal["lse"]}


def gradients_of(attend: Any, arguments: tuple[Any, ...]) -> Seen:
    """The gradients of a weighed sum of both results."""
    q, k, v, *rest = arguments
    inputs = [t.requires_grad_() for t in (q, k, v)]
    output, lse = attend(*inputs, *rest)
    total = (output * normal(*output.shape, seed="of output")).sum() + (lse * normal(*lse.shape, seed="of lse")).sum()
    found = torch.autograd.grad(total, inputs, allow_unused=True)
    return {
        f"gradient of {n}": torch.zeros_like(t) if g is None else g
        for n, t, g in zip("qkv", inputs, found, strict=True)
    }


@exercise.property
def gradients_of_huge_scores(tiled_attention: Any) -> Seen:
    """the gradients where scores are around ±10,000

    The values are right but, where scores are huge, the gradients are not. A difference of two infinities, or a factor
    of 0 times infinity, is hidden in the values and comes out on the way back.
    """
    n = whole(6, 9, seed="n")
    high = gradients_of(tiled_attention, (*steep(n, 10_000), 2))
    low = gradients_of(tiled_attention, (*steep(n, -10_000), 2, True))
    return {**high, **{f"{name}, causal": gradient for name, gradient in low.items()}}


@exercise.property
def no_whole_matrix(tiled_attention: Any) -> Seen:
    """a long sequence in small tiles

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. Tiles are
    there to avoid it: nothing needs to be larger than one tile.
    """
    return stays_small(tiled_attention, *qkv(many(), many(), 4, 3), 16)


@exercise.property
def no_whole_matrix_if_causal(tiled_attention: Any) -> Seen:
    """a long causal sequence in small tiles

    In the causal case you make a tensor with an entry for each pair of positions: scores, or a mask. Make the mask of
    one tile at a time.
    """
    return stays_small(tiled_attention, *qkv(many(), many(), 4, 3), 16, True)


def two_calm_tiles() -> tuple[Any, ...]:
    """Scores so close together that running sums in half precision are right, too."""
    return *qkv(4, 5, 3, 2, 2, std=0.5), 3


usual(
    exercise,
    two_calm_tiles,
    lambda attend: lambda q, k, v, block: (*attend(q, k, v, block), *attend(k, k, v, block, causal=True)),
    alike=lambda: (*qkv(5, 5, 5, 5), 2),
)


def tile_bounds(keys: int, block: int) -> list[tuple[int, int]]:
    return [(start, min(start + block, keys)) for start in range(0, keys, block)]


def later_keys(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    return columns > rows


def from_minus_infinity(q: Tensor) -> Tensor:
    return torch.full_like(q[..., :1], -math.inf)


def old_to_new(highest: Tensor, new: Tensor) -> Tensor:
    return torch.exp(highest - new)


def log_of_the_sum(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    return (highest + total.log()).squeeze(-1)


def divided_once(output: Tensor, total: Tensor) -> Tensor:
    return output / total


@exercise.assembled
def tiled_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block: int,
    causal: bool = False,
    *,
    bounds: Any = tile_bounds,
    scale: Any = math.sqrt,
    hides: Any = later_keys,
    begin: Any = from_minus_infinity,
    rescale_total: Any = old_to_new,
    rescale_output: Any = old_to_new,
    finish: Any = divided_once,
    statistic: Any = log_of_the_sum,
) -> Any:
    highest = begin(q)
    total, output = torch.zeros_like(highest), q.new_zeros(*q.shape[:-1], v.shape[-1])
    rows = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start, stop in bounds(k.shape[-2], block):
        scores = q @ k[..., start:stop, :].mT / scale(q.shape[-1])
        if causal:
            columns = torch.arange(start, stop, device=q.device)
            scores = scores.masked_fill(hides(rows, columns, start), -math.inf)
        new = torch.maximum(highest, scores.amax(-1, keepdim=True))
        powers = torch.exp(scores - new)
        total = total * rescale_total(highest, new) + powers.sum(-1, keepdim=True)
        output = output * rescale_output(highest, new) + powers @ v[..., start:stop, :]
        highest = new
    return finish(output, total), statistic(highest, total, q)


def as_before(highest: Tensor, new: Tensor) -> Tensor:
    return torch.ones_like(new)


@exercise.instead_of("rescale_total")
def sum_not_rescaled(highest: Tensor, new: Tensor) -> Tensor:
    """You forget to rescale the running sum when the largest score changes.

    What was summed so far was measured against the old maximum. Under the new one each term is smaller, by the same
    factor.
    """
    return as_before(highest, new)


@exercise.instead_of("rescale_output")
def output_not_rescaled(highest: Tensor, new: Tensor) -> Tensor:
    """You forget to rescale the running output when the largest score changes.

    The values so far were weighed against the old maximum. They take the same factor as the running sum.
    """
    return as_before(highest, new)


@exercise.misconception
def rescaled_the_wrong_way(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """You rescale by exp(new - old); it should be exp(old - new).

    The maximum only grows, so what was summed before can only become smaller.
    """

    def inverse(highest: Tensor, new: Tensor) -> Tensor:
        return torch.where(highest.isinf(), torch.zeros_like(new), torch.exp(new - highest))

    return tiled_in_steps(q, k, v, block, causal, rescale_total=inverse, rescale_output=inverse)


@exercise.instead_of("bounds")
def short_tile_dropped(keys: int, block: int) -> list[tuple[int, int]]:
    """You leave out the last tile where it is shorter than the others.

    `keys // block` counts whole tiles only.
    """
    return [(i * block, (i + 1) * block) for i in range(keys // block)]


@exercise.instead_of("scale")
def never_divided_by_the_root(d_k: int) -> float:
    """You do not divide the scores by the root of d_k.

    Output and lse are both of the scaled scores.
    """
    return 1.0


@exercise.instead_of("hides")
def counted_within_the_tile(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case you compare the position of a key within its tile with the query's position in the sequence.

    Key number 0 of the third tile is not key 0: add where the tile begins.
    """
    return columns - start > rows


@exercise.instead_of("hides")
def the_next_one_shown(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case each query sees one key too many, the next one.

    Query i sees the keys j ≤ i.
    """
    return columns > rows + 1


@exercise.instead_of("hides")
def itself_hidden(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case a query does not see its own position.

    Query i sees the keys j ≤ i. The first one sees nothing otherwise, and that is NaN.
    """
    return columns >= rows


@exercise.instead_of("hides")
def causal_not_used(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """You do not use `causal`.

    With causal=True query i sees the keys j ≤ i only.
    """
    return torch.zeros_like(columns > rows)


@exercise.instead_of("begin")
def maximum_from_zero(q: Tensor) -> Tensor:
    """Your running maximum starts at 0.

    Where all scores are far below 0 it never moves, every power underflows to 0, and 0/0 is NaN. It has to start below
    every score.
    """
    return torch.zeros_like(q[..., :1])


@exercise.misconception
def no_maximum(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """You exponentiate the scores as they are.

    exp(100) overflows float32, and scores far below 0 all become 0. Subtract the largest score so far.
    """
    output: Any = 0.0
    total: Any = 0.0
    rows = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start, stop in tile_bounds(k.shape[-2], block):
        powers = (q @ k[..., start:stop, :].mT / math.sqrt(q.shape[-1])).exp()
        if causal:
            powers = powers.masked_fill(torch.arange(start, stop, device=q.device) > rows, 0.0)
        output, total = output + powers @ v[..., start:stop, :], total + powers.sum(-1, keepdim=True)
    return output / total, total.log().squeeze(-1)


@exercise.instead_of("finish")
def never_normalised(output: Tensor, total: Tensor) -> Tensor:
    """You do not divide the output by the sum of the powers.

    The powers are weights only after the division, which comes once, after the last tile.
    """
    return output


@exercise.misconception
def tiles_averaged(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """You take a softmax in each tile and average the results of the tiles.

    A tile of weak keys then counts as much as a tile of strong ones. What a tile is worth is the sum of its powers.
    """
    outputs = []
    rows = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start, stop in tile_bounds(k.shape[-2], block):
        scores = q @ k[..., start:stop, :].mT / math.sqrt(q.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(start, stop, device=q.device) > rows, -math.inf)
        outputs.append(scores.softmax(-1).nan_to_num(0.0) @ v[..., start:stop, :])
    return torch.stack(outputs).mean(0), tiled_attention(q, k, v, block, causal)[1]


@exercise.instead_of("statistic")
def maximum_returned(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is the largest score alone.

    log Σ exp(s) lies above it, by the logarithm of the sum of exp(s - largest).
    """
    return highest.squeeze(-1)


@exercise.instead_of("statistic")
def maximum_not_added(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is the logarithm of the shifted sum; the largest score is missing.

    The sum was taken of exp(s - largest). Add the largest again: then two tiles can be compared.
    """
    return total.log().squeeze(-1)


@exercise.instead_of("statistic")
def in_base_two(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is in base 2.

    Fast kernels keep it so. Here it is the natural logarithm.
    """
    return log_of_the_sum(highest, total, q) / math.log(2)


@exercise.instead_of("statistic")
def sign_reversed(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse has the wrong sign.

    -lse is an energy, and a later chapter calls it so. Here it is log Σ exp(score).
    """
    return -log_of_the_sum(highest, total, q)


@exercise.instead_of("statistic")
def of_unscaled_scores(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """You multiply the lse by the root of d_k again.

    It belongs to the scaled scores, the ones that the softmax sees: so two tiles can be merged by it.
    """
    return log_of_the_sum(highest, total, q) * math.sqrt(q.shape[-1])


@exercise.instead_of("statistic")
def a_dimension_too_many(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse has one dimension too many, of size 1.

    `keepdim` is handy while you compute. What is returned is (..., query).
    """
    return highest + total.log()


@exercise.instead_of("statistic")
def statistic_detached(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is cut from the graph.

    Whoever merges two tiles by it needs its gradient: both results are differentiable.
    """
    return log_of_the_sum(highest, total, q).detach()


@exercise.misconception
def one_matrix(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """Your values are right, but you make all scores at once.

    The scores of a tile are all that is needed at a time. At 10,000 positions the whole matrix has 400 MB.
    """
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d_k")
