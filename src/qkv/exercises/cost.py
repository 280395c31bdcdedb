"""Chapter 11: what a layer costs; windows, mixtures, features, tiles; checkpoints; the cache of keys and values."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, uniform, whole
from proctor.inside.properties import keeps_inputs, same_in, usual
from qkv.exercises.forbidden import CHECKPOINT, FUSED_ATTENTION, MULTIHEAD
from qkv.model.cost import (
    cache_bytes,
    cached_attention,
    checkpointed,
    layer_flops,
    linear_attention,
    linformer_attention,
    tiled_attention,
    window_attention,
)

Seen = dict[str, Any]


def qkv(query: int, key: int, d_k: int, d_v: int, *leading: int, std: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*leading, query, d_k, seed="q", std=std),
        normal(*leading, key, d_k, seed="k", std=std),
        normal(*leading, key, d_v, seed="v"),
    )


def many() -> int:
    """A number of positions at which a matrix of all pairs stands out from whatever grows with one of them."""
    return whole(256, 300, seed="many")


class Largest(TorchDispatchMode):
    """Notes the most entries that a tensor has which is made inside the block."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, list | tuple) else [made]:
            if isinstance(one, Tensor):
                self.entries = max(self.entries, one.numel())
        return made


def stays_small(call: Any, *arguments: Any) -> Seen:
    """Does a call with `many` positions make no tensor with an entry for each pair of them?"""
    with Largest() as largest:
        call(*arguments)
    return {"no tensor with an entry for each pair": largest.entries < many() ** 2}


# layer_flops ----------------------------------------------------------------------------------------------------------

flops = Exercise(
    layer_flops,
    section="What a layer costs",
    minutes=5,
    difficulty=1,
    why="It says what a length costs before anybody runs it, and from where on attention is the larger part.",
    hints=[
        "A product of (a, b) and (b, c) has a·c entries. How many multiply-adds does each of them take?",
        "There are four products with weights around the attention, two inside it for each head, two behind it. Write "
        "the shapes beside each.",
        "Add up the products inside all heads: n_heads times the width of one head is d_model again.",
    ],
)


def parts(result: Any) -> Seen:
    projections, mixing, feed_forward = result
    return {"projections": projections, "mixing": mixing, "feed_forward": feed_forward}


@flops.probe
def some_layer(layer_flops: Any) -> Seen:
    """a layer whose sizes all differ"""
    n, heads, d_head, d_ff = distinct(3, 30, 4, seed="sizes")
    return parts(layer_flops(n, heads * d_head, heads, d_ff))


@flops.probe
def a_single_head(layer_flops: Any) -> Seen:
    """one head"""
    n, d_model, d_ff = distinct(5, 60, 3, seed="sizes of one head")
    return parts(layer_flops(n, d_model, 1, d_ff))


@flops.probe
def a_single_position(layer_flops: Any) -> Seen:
    """a sequence of one position, heads of width 1"""
    d_model, d_ff = distinct(5, 60, 2, seed="sizes of one position")
    return parts(layer_flops(1, d_model, d_model, d_ff))


@flops.probe
def a_long_text(layer_flops: Any) -> Seen:
    """a long text in a wide model"""
    n, heads = whole(4_000, 9_000, seed="long"), whole(8, 33, seed="heads")
    return parts(layer_flops(n, 64 * heads, heads, whole(300, 9_000, seed="wide")))


@flops.property
def no_position(layer_flops: Any) -> Seen:
    """a sequence without a position

    For n = 0 there is nothing to compute: all three numbers are 0.
    """
    return parts(layer_flops(0, 12, 3, 20))


def four_products(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[0]


def two_products_a_head(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[1]


def two_layers(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[2]


@flops.assembled
def flops_in_steps(
    n: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    project: Any = four_products,
    mix: Any = two_products_a_head,
    feed: Any = two_layers,
) -> tuple[Any, Any, Any]:
    sizes = n, d_model, n_heads, d_ff
    return project(*sizes), mix(*sizes), feed(*sizes)


@flops.misconception
def one_for_a_multiply_add(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You count a multiplication with its addition as one operation.

    Both conventions exist ("MACs" and "FLOPs"). Here each of the two counts, as in torch's own counter.
    """
    return tuple(part // 2 for part in layer_flops(n, d_model, n_heads, d_ff))


@flops.misconception
def the_way_back_as_well(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You count the way back as well, which triples everything.

    That is what a training step costs. Here only the forward pass is asked for.
    """
    return tuple(3 * part for part in layer_flops(n, d_model, n_heads, d_ff))


@flops.instead_of("project")
def output_projection_forgotten(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count three projections; the one behind the attention is missing.

    Queries, keys, values, and then the output, which mixes the heads: four products of the same size.
    """
    return 6 * n * d_model**2


@flops.instead_of("project")
def one_projection(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count one projection; there are four.

    Queries, keys, values and output have a matrix each.
    """
    return 2 * n * d_model**2


@flops.instead_of("project")
def one_head_projected(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the projections of one head only.

    Each head's matrices are d_model × d_head; all of them side by side are d_model × d_model.
    """
    return 8 * n * d_model * (d_model // n_heads)


@flops.instead_of("mix")
def scores_alone(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the scores, but not the averages of the values.

    Two products mix positions: queries with keys, and weights with values.
    """
    return 2 * n**2 * d_model


@flops.instead_of("mix")
def full_width_for_each_head(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You let every head work at the full width, so mixing grows with the number of heads.

    A head is d_model / n_heads wide. All heads together cost what one head of full width would.
    """
    return 4 * n**2 * d_model * n_heads


@flops.instead_of("mix")
def one_head_mixed(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the mixing of one head only.

    There are n_heads of them, each d_model / n_heads wide.
    """
    return 4 * n**2 * (d_model // n_heads)


@flops.instead_of("mix")
def triangle_alone(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the pairs that a causal mask leaves.

    A masked product is computed in full and then hidden. Here a mask saves nothing.
    """
    return 2 * n * (n + 1) * d_model


@flops.instead_of("mix")
def wrong_size_squared(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """In the mixing you square d_model, where the number of positions should be squared.

    There is a score for each pair of positions; each takes d_model multiplications, over all heads.
    """
    return 4 * n * d_model**2


@flops.instead_of("feed")
def one_layer_of_two(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count one of the two layers of the feed-forward network.

    It goes up to d_ff and down again: two products of the same size.
    """
    return 2 * n * d_model * d_ff


@flops.instead_of("feed")
def four_times_as_wide(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You take the feed-forward network to be four times as wide as the model.

    It often is. Here d_ff says how wide.
    """
    return 16 * n * d_model**2


@flops.misconception
def mixing_last(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return the feed-forward network second and the mixing third.

    The numbers are right; the order is projections, mixing, feed-forward.
    """
    projections, mixing, feed_forward = layer_flops(n, d_model, n_heads, d_ff)
    return projections, feed_forward, mixing


@flops.misconception
def one_number(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return one number, the sum.

    The three are asked for one by one: only one of them grows with the square of n.
    """
    return sum(layer_flops(n, d_model, n_heads, d_ff))


@flops.misconception
def numbers_with_a_point(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return floats; a `/` is the usual reason.

    Counts are integers. Python's integers are exact at any size, floats are not: use `//`.
    """
    return tuple(float(part) for part in layer_flops(n, d_model, n_heads, d_ff))


# window_attention -----------------------------------------------------------------------------------------------------

windows = Exercise(
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
    """A sequence that is longer than its window, every size another one."""
    n, d_k, d_v = distinct(window + 2, window + 8, 3, seed=f"sizes {window} {dilation} {more}")
    return *qkv(n + more, n + more, d_k, d_v, *leading), window, dilation


@windows.probe
def a_few_keys(window_attention: Any) -> Seen:
    """a window of three or four keys"""
    return {"output": window_attention(*windowed(whole(3, 5, seed="window"), 1, 2)[:4])}


@windows.probe
def every_other_key(window_attention: Any) -> Seen:
    """a window with a dilation of two or three"""
    dilation = whole(2, 4, seed="dilation")
    return {"output": window_attention(*windowed(3, dilation, 2, more=dilation))}


@windows.probe
def beyond_the_beginning(window_attention: Any) -> Seen:
    """a window that reaches beyond the first position"""
    n, window, dilation = whole(4, 7, seed="n"), whole(8, 12, seed="wide"), whole(2, 5, seed="step")
    last_sees_the_first = qkv(2 * dilation + 1, 2 * dilation + 1, 3, 2)
    return {
        "wide": window_attention(*qkv(n, n, 3, 2), window),
        "dilated": window_attention(*last_sees_the_first, window, dilation),
        "with steps beyond the beginning": window_attention(*qkv(n, n, 3, 2), 3, n - 3 + dilation),
    }


@windows.probe
def a_window_of_one(window_attention: Any) -> Seen:
    """a window of one key"""
    return {"output": window_attention(*windowed(1, whole(1, 4, seed="any"), 3))}


@windows.probe
def in_two_dimensions(window_attention: Any) -> Seen:
    """two leading dimensions, and sizes of 1"""
    n, d_v = distinct(4, 8, 2, seed="sizes")
    return {"output": window_attention(*qkv(n, n, 1, d_v, 2, 3), 2, whole(1, 3, seed="dilation"))}


@windows.probe
def a_single_token(window_attention: Any) -> Seen:
    """a sequence of one position, every size 1"""
    return {"output": window_attention(*qkv(1, 1, 1, 1), whole(1, 5, seed="window"))}


@windows.property
def no_matrix_of_pairs(window_attention: Any) -> Seen:
    """a long sequence under a short window

    Your values are right, but on the way you make a tensor with an entry for each pair of positions. Then a window
    saves nothing: at 10,000 positions that is 400 MB for one head. Gather the few keys of each query instead.
    """
    return stays_small(window_attention, *qkv(many(), many(), 4, 3), 5, 2)


usual(windows, lambda: windowed(3, 2, 2, more=3), alike=lambda: (*qkv(6, 6, 6, 6), 3))


def keys_behind(n: int, window: int, dilation: int, device: Any) -> tuple[Tensor, Tensor]:
    seen = torch.arange(n, device=device)[:, None] - dilation * torch.arange(window, device=device)
    return seen.clamp(min=0), seen < 0


def root_of_the_width(q: Tensor, v: Tensor, window: int) -> float:
    return math.sqrt(q.shape[-1])


def hidden_before(scores: Tensor, hidden: Tensor) -> Tensor:
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@windows.assembled
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


@windows.instead_of("look")
def both_sides(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window lies around the query; it should lie before it.

    Half of it is the future then. Here a query sees itself and what came before.
    """
    return places(n, dilation * (torch.arange(window) - window // 2), device)


@windows.instead_of("look")
def a_radius(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window has one key too many: it sees `window` keys beside itself.

    `window` counts all visible keys, the query's own included.
    """
    return keys_behind(n, window + 1, dilation, device)


@windows.instead_of("look")
def itself_left_out(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your queries do not see their own position.

    The window begins with the position itself. Without it the first query sees nothing, and its output is NaN.
    """
    return places(n, -dilation * torch.arange(1, window + 1), device)


@windows.instead_of("look")
def dilation_ignored(n: int, window: int, dilation: int, device: Any) -> Any:
    """You do not use `dilation`.

    It is the step from one visible key to the next: with 2, every other key is seen.
    """
    return keys_behind(n, window, 1, device)


@windows.instead_of("look")
def a_wider_window(n: int, window: int, dilation: int, device: Any) -> Any:
    """You see every key as far back as the dilated window reaches.

    A dilated window has gaps: it reaches further, but the number of keys stays.
    """
    return keys_behind(n, window * dilation, 1, device)


@windows.instead_of("look")
def window_as_a_reach(n: int, window: int, dilation: int, device: Any) -> Any:
    """With a dilation you see fewer keys, because you take the window for a distance.

    `window` counts keys. Dilation moves them apart, it does not remove any.
    """
    return places(n, -torch.arange(0, window, dilation), device)


@windows.instead_of("look")
def in_the_future(n: int, window: int, dilation: int, device: Any) -> Any:
    """Your window lies behind the query, in the future.

    Query i sees i - dilation·m, not i + dilation·m.
    """
    return places(n, dilation * torch.arange(window), device)


@windows.instead_of("look")
def first_key_again_and_again(n: int, window: int, dilation: int, device: Any) -> Any:
    """Where the window reaches beyond the beginning, you count the first key again and again.

    Clamping an index is not enough: the place has to be hidden from the softmax as well.
    """
    seen, hidden = keys_behind(n, window, dilation, device)
    return seen, torch.zeros_like(hidden)


@windows.instead_of("look")
def goes_on_at_the_end(n: int, window: int, dilation: int, device: Any) -> Any:
    """Where the window reaches beyond the beginning, it goes on at the end of the sequence.

    A negative index counts from the end in Python, and `roll` goes round in a circle. These keys are the future.
    """
    seen = torch.arange(n, device=device)[:, None] - dilation * torch.arange(window, device=device)
    return seen.remainder(n), torch.zeros_like(seen, dtype=torch.bool)


@windows.instead_of("scale")
def not_scaled(q: Tensor, v: Tensor, window: int) -> float:
    """You do not divide the scores by the root of d_k.

    A window changes who is seen, not how scores are made.
    """
    return 1.0


@windows.instead_of("scale")
def scaled_by_the_window(q: Tensor, v: Tensor, window: int) -> float:
    """You divide the scores by the root of the window.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(window)


@windows.instead_of("scale")
def root_forgotten(q: Tensor, v: Tensor, window: int) -> float:
    """You divide the scores by d_k; its root is missing.

    The standard deviation of a dot product grows with the root of d_k.
    """
    return float(q.shape[-1])


@windows.instead_of("weigh")
def hidden_afterwards(scores: Tensor, hidden: Tensor) -> Tensor:
    """You hide what does not exist after the softmax, so the first rows no longer sum to 1.

    The places before the beginning have already taken their share.
    """
    return scores.softmax(-1) * ~hidden


@windows.instead_of("weigh")
def empty_places_score_zero(scores: Tensor, hidden: Tensor) -> Tensor:
    """Places before the beginning have the score 0 and the value 0, so the first rows are too small.

    A row of zeros, from padding, is an ordinary key for the softmax: 0 is a score like any other.
    """
    return scores.masked_fill(hidden, 0.0).softmax(-1) * ~hidden


@windows.misconception
def every_pair(q: Tensor, k: Tensor, v: Tensor, window: int, dilation: int = 1) -> Tensor:
    """Your values are right, but you make a tensor with an entry for each pair of positions and hide most of them.

    Then a window costs as much as no window. Gather the few keys of each query instead.
    """
    n = q.shape[-2]
    back = torch.arange(n, device=q.device)[:, None] - torch.arange(n, device=q.device)
    seen = (back >= 0) & (back < window * dilation) & (back % dilation == 0)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ v


# linformer_attention --------------------------------------------------------------------------------------------------

mixtures = Exercise(
    linformer_attention,
    section="Fewer keys",
    minutes=5,
    difficulty=1,
    why="Fewer keys are cheaper to look at, and what was mixed cannot be told apart again.",
    hints=[
        "e is (rank, key), k is (key, d_k). Which product gives (rank, d_k)?",
        "After that it is attention as you know it, over rank keys instead of all of them.",
        "In which order do you multiply? q kᵀ eᵀ is the same number, but q kᵀ alone has an entry for each pair.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def mixed(query: int, key: int, d_k: int, d_v: int, rank: int, *leading: int) -> tuple[Tensor, ...]:
    e, f = (normal(rank, key, seed=name, std=2 / math.sqrt(key)) for name in "ef")
    return *qkv(query, key, d_k, d_v, *leading), e, f


def some_mixtures(*leading: int) -> tuple[Tensor, ...]:
    return mixed(*distinct(2, 9, 5, seed="sizes"), *leading)


@mixtures.probe
def some_queries(linformer_attention: Any) -> Seen:
    """a batch in which every size differs"""
    return {"output": linformer_attention(*some_mixtures(2))}


@mixtures.probe
def without_a_batch(linformer_attention: Any) -> Seen:
    """no leading dimension"""
    return {"output": linformer_attention(*mixed(*distinct(2, 9, 5, seed="other sizes")))}


@mixtures.probe
def with_two_leading_dimensions(linformer_attention: Any) -> Seen:
    """two leading dimensions"""
    return {"output": linformer_attention(*mixed(*distinct(4, 9, 5, seed="third sizes"), 2, 3))}


@mixtures.probe
def as_many_as_keys(linformer_attention: Any) -> Seen:
    """as many mixtures as keys and queries, so that a transposed matrix still fits"""
    n = whole(5, 9, seed="n")
    return {"output": linformer_attention(*mixed(n, n, 3, 2, n))}


@mixtures.probe
def one_of_each(linformer_attention: Any) -> Seen:
    """a single mixture, and a single key"""
    single_mixture = linformer_attention(*mixed(3, 5, 4, 2, 1))
    return {"of one mixture": single_mixture, "of one key": linformer_attention(*mixed(1, 1, 1, 1, 3))}


@mixtures.property
def no_tensor_of_pairs(linformer_attention: Any) -> Seen:
    """a long sequence and a few mixtures

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. That is what
    the mixtures are there to avoid: mix the keys first.
    """
    return stays_small(linformer_attention, *mixed(many(), many(), 4, 3, 6))


usual(mixtures, lambda: some_mixtures(2), alike=lambda: mixed(5, 5, 5, 5, 5))


def keys_mixed(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    return e @ k, f @ v


def width_of_keys(q: Tensor, e: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def over_mixtures(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


@mixtures.assembled
def linformer_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    e: Tensor,
    f: Tensor,
    *,
    mix: Any = keys_mixed,
    scale: Any = width_of_keys,
    weigh: Any = over_mixtures,
) -> Tensor:
    keys, values = mix(k, v, e, f)
    return weigh(q @ keys.mT / scale(q, e)) @ values


@mixtures.instead_of("mix")
def exchanged(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the keys by f and the values by e.

    e comes first and belongs to the keys, f to the values.
    """
    return f @ k, e @ v


@mixtures.instead_of("mix")
def e_for_both(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the values by e as well; f is never used.

    Sharing them is possible (the paper tries it), but here both are given.
    """
    return e @ k, e @ v


@mixtures.instead_of("mix")
def f_for_both(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You mix the keys by f as well; e is never used.

    Sharing them is possible (the paper tries it), but here both are given.
    """
    return f @ k, f @ v


@mixtures.instead_of("mix")
def mixtures_made_weights(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You put a softmax over the rows of e and f.

    They are used as they are: learned matrices, whose entries may be negative.
    """
    return e.softmax(-1) @ k, f.softmax(-1) @ v


@mixtures.instead_of("mix")
def averaged(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You divide the mixtures by the number of keys.

    e and f are used as they are; whoever makes them decides about their size.
    """
    return e @ k / e.shape[-1], f @ v / f.shape[-1]


@mixtures.instead_of("mix")
def keys_left_alone(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You do not mix at all: this is attention over every key.

    e and f make a few keys and values out of many.
    """
    return k, v


@mixtures.instead_of("mix")
def transposed(k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Any:
    """You use e and f transposed.

    They are (rank, key): each row says how to mix all keys into one.
    """
    return e.mT @ k, f.mT @ v


@mixtures.instead_of("scale")
def unscaled(q: Tensor, e: Tensor) -> float:
    """You do not divide the scores by the root of d_k.

    They are dot products of d_k components, as ever.
    """
    return 1.0


@mixtures.instead_of("scale")
def scaled_by_the_rank(q: Tensor, e: Tensor) -> float:
    """You divide the scores by the root of the rank.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(e.shape[0])


@mixtures.instead_of("scale")
def scaled_by_the_keys(q: Tensor, e: Tensor) -> float:
    """You divide the scores by the root of the number of keys.

    What makes scores large is the number of components that a dot product sums: d_k.
    """
    return math.sqrt(e.shape[1])


@mixtures.instead_of("weigh")
def over_queries(scores: Tensor) -> Tensor:
    """Your softmax runs over the queries.

    Each query shares 1 among the mixtures: that is the last dimension.
    """
    return scores.softmax(-2)


@mixtures.instead_of("weigh")
def a_triangle(scores: Tensor) -> Tensor:
    """You hide a triangle, as for causal attention.

    A mixture holds keys of all positions, so it has no position of its own: this attention can't be masked.
    """
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@mixtures.misconception
def mixed_too_late(q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Tensor:
    """Your values are right, but you multiply queries with all keys before you mix.

    The product of three matrices is the same in either order; the tensor in between is not. q kᵀ has an entry for each
    pair of positions.
    """
    return (q @ k.mT @ e.mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f @ v)


@mixtures.misconception
def mixed_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Tensor:
    """You mix the weights after the softmax instead of the keys before it.

    Then all pairs have been computed already, and rows no longer sum to 1.
    """
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ e.mT @ (f @ v)


# linear_attention -----------------------------------------------------------------------------------------------------

linear = Exercise(
    linear_attention,
    section="Swapping two brackets",
    minutes=10,
    difficulty=2,
    why="The same product with its brackets elsewhere: the memory has one size at every length.",
    hints=[
        "(φ(q) φ(k)ᵀ) v and φ(q) (φ(k)ᵀ v) are the same numbers. Which of the two is small in between?",
        "The divisor is a sum over keys of the same products, with 1 in the place of v.",
        "Causal: query i uses the sum over the keys up to i, itself included. Which function gives all running sums?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


@linear.probe
def all_keys(linear_attention: Any) -> Seen:
    """queries over keys, every size another one"""
    return {"output": linear_attention(*qkv(*distinct(2, 8, 4, seed="sizes"), 3))}


@linear.probe
def keys_so_far(linear_attention: Any) -> Seen:
    """a causal sequence"""
    n, d_k, d_v = distinct(3, 9, 3, seed="sizes")
    return {"output": linear_attention(*qkv(n, n, d_k, d_v, 2), True)}


@linear.probe
def any_batch(linear_attention: Any) -> Seen:
    """no leading dimension, and two of them, causal and not"""
    n, d_k, d_v = distinct(3, 7, 3, seed="sizes")
    return {
        "without a batch": linear_attention(*qkv(n, n, d_k, d_v)),
        "causal, without a batch": linear_attention(*qkv(n, n, d_k, d_v), causal=True),
        "two leading dimensions": linear_attention(*qkv(n, d_v, d_k, 1, 2, 3)),
        "causal, two leading dimensions": linear_attention(*qkv(n, n, 1, d_v, 3, 2), causal=True),
    }


@linear.probe
def larger_entries(linear_attention: Any) -> Seen:
    """entries between -10 and 10"""
    n, d_k, d_v = distinct(4, 9, 3, seed="sizes")
    q, k = (uniform(n, d_k, seed=name, low=-10, high=10) for name in "qk")
    q[:, 0], k[:, 0] = q[:, 0].abs(), k[:, 0].abs()  # no row of tiny features alone, which float32 has few digits of
    v = normal(n, d_v, seed="v")
    return {"output": linear_attention(q, k, v), "causal": linear_attention(q, k, v, True)}


@linear.probe
def tiny_weights(linear_attention: Any) -> Seen:
    """a single key with entries around -6, whose weight is tiny"""
    q, k, v = uniform(3, 1, seed="q", low=-7, high=-6), uniform(1, 1, seed="k", low=-7, high=-6), normal(1, 4, seed="v")
    return {"output": linear_attention(q, k, v), "causal": linear_attention(q[:1], k, v, True)}


@linear.property
def nothing_for_each_pair(linear_attention: Any) -> Seen:
    """a long sequence, every key visible

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. Multiply keys
    with values first: their product does not grow with the length.
    """
    return stays_small(linear_attention, *qkv(many(), many(), 4, 3))


@linear.property
def nothing_for_each_pair_if_causal(linear_attention: Any) -> Seen:
    """a long causal sequence

    Causal or not, no tensor needs an entry for each pair of positions; yours has one in the causal case. The sum over
    the keys so far is the sum for the query before, plus one product.
    """
    return stays_small(linear_attention, *qkv(many(), many(), 4, 3), True)


usual(
    linear,
    lambda: (*qkv(4, 5, 3, 2, 2), False),
    lambda attend: lambda q, k, v, causal: (attend(q, k, v), attend(k, k, v, causal=True)),
    alike=lambda: (*qkv(5, 5, 5, 5), True),
)


def elu_plus_one(x: Tensor) -> Tensor:
    return F.elu(x) + 1


def running(terms: Tensor, causal: bool) -> Tensor:
    return terms.cumsum(-3) if causal else terms.sum(-3, keepdim=True)


def divided(output: Tensor, total: Tensor) -> Tensor:
    return output / total


@linear.assembled
def linear_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    *,
    feature: Any = elu_plus_one,
    sums: Any = running,
    total_sums: Any = running,
    divide: Any = divided,
) -> Tensor:
    q, k = feature(q).unsqueeze(-2), feature(k).unsqueeze(-1)
    memory, total = sums(k * v.unsqueeze(-2), causal), total_sums(k, causal)
    return divide((q @ memory).squeeze(-2), (q @ total).squeeze(-2))


@linear.instead_of("feature")
def rectified(x: Tensor) -> Tensor:
    """Your features are relu(x).

    Then a key with no positive entry is never seen, and a query with none divides 0 by 0. elu(x) + 1 is positive
    everywhere.
    """
    return x.relu()


@linear.instead_of("feature")
def one_not_added(x: Tensor) -> Tensor:
    """Your features are elu(x); the 1 is missing.

    elu falls to -1. Weights could be negative and their sum 0.
    """
    return F.elu(x)


@linear.instead_of("feature")
def one_added_inside(x: Tensor) -> Tensor:
    """You add the 1 before elu, not after it.

    elu(x + 1) still falls below 0; elu(x) + 1 does not.
    """
    return F.elu(x + 1)


@linear.instead_of("feature")
def exponential(x: Tensor) -> Tensor:
    """Your features are exp(x).

    For negative entries that is the same. For positive ones elu(x) + 1 is x + 1, which grows slowly.
    """
    return x.exp()


@linear.instead_of("feature")
def softened(x: Tensor) -> Tensor:
    """Your features are a softmax of the entries.

    That is another paper's map. Here φ(x) = elu(x) + 1, entry by entry.
    """
    return x.softmax(-1)


@linear.instead_of("feature")
def scaled_first(x: Tensor) -> Tensor:
    """You divide queries and keys by a root of d_k.

    Nothing is scaled here: φ is not an exponential that could saturate.
    """
    return elu_plus_one(x / x.shape[-1] ** 0.25)


@linear.instead_of("sums")
def causal_ignored(terms: Tensor, causal: bool) -> Tensor:
    """You sum keys and values over all positions, causal or not.

    With causal=True query i uses the keys up to i only, above the bar and below it.
    """
    return running(terms, False)


@linear.instead_of("total_sums")
def divisor_of_all_keys(terms: Tensor, causal: bool) -> Tensor:
    """In the causal case you divide by the weights of all keys, the hidden ones included.

    The weights of the visible keys have to sum to 1: the divisor is a running sum, too.
    """
    return running(terms, False)


@linear.misconception
def never_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You do not use `causal`.

    With causal=True query i sees the keys j ≤ i only.
    """
    return linear_attention(q, k, v)


@linear.misconception
def always_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You take running sums also where every query may see every key.

    Only with causal=True are later keys hidden.
    """
    return linear_in_steps(q, k, v, True)


@linear.misconception
def itself_not_seen(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """In the causal case a query does not see its own position.

    Query i sees the keys j ≤ i: update the sums before you read them. Otherwise the first query divides 0 by 0.
    """

    def before(terms: Tensor, causal: bool) -> Tensor:
        return running(terms, True) - terms if causal else running(terms, False)

    return linear_in_steps(q, k, v, causal, sums=before, total_sums=before)


@linear.misconception
def from_the_end(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """In the causal case you sum from the end: each query sees itself and the future.

    Query i sees the keys j ≤ i.
    """

    def backwards(terms: Tensor, causal: bool) -> Tensor:
        return running(terms.flip(-3), True).flip(-3) if causal else running(terms, False)

    return linear_in_steps(q, k, v, causal, sums=backwards, total_sums=backwards)


@linear.instead_of("divide")
def never_divided(output: Tensor, total: Tensor) -> Tensor:
    """You do not divide by the sum of the weights.

    Without it the output grows with the number of keys; attention is an average.
    """
    return output


@linear.instead_of("divide")
def epsilon_added(output: Tensor, total: Tensor) -> Tensor:
    """You add a small number to the divisor.

    Where features are tiny it is not small any more, and the weights no longer sum to 1. φ is never 0, so nothing has
    to be added.
    """
    return output / (total + 1e-6)


@linear.misconception
def queries_left_alone(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """You apply φ to the keys, but not to the queries.

    Weights are products of two features. With a raw query they can be negative.
    """
    k = elu_plus_one(k).unsqueeze(-1)
    q = q.unsqueeze(-2)
    return ((q @ running(k * v.unsqueeze(-2), causal)) / (q @ running(k, causal))).squeeze(-2)


@linear.misconception
def pair_by_pair(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Your values are right, but you make the weights of all pairs of query and key.

    (φ(q) φ(k)ᵀ) v costs n²; the same with the brackets moved, φ(q) (φ(k)ᵀ v), does not.
    """
    weights = elu_plus_one(q) @ elu_plus_one(k).mT
    weights = weights.tril() if causal else weights
    return weights @ v / weights.sum(-1, keepdim=True)


@linear.misconception
def pair_by_pair_if_causal(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Your values are right, but in the causal case you make the weights of all pairs and hide a triangle.

    The sum over the keys so far is the sum for the query before, plus one product: a running sum.
    """
    return pair_by_pair(q, k, v, True) if causal else linear_attention(q, k, v)


# tiled_attention ------------------------------------------------------------------------------------------------------

tiles = Exercise(
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


@tiles.probe
def three_tiles(tiled_attention: Any) -> Seen:
    """three tiles, the last one short"""
    return both(tiled_attention(*a_few_tiles(2)))


@tiles.probe
def the_past_alone(tiled_attention: Any) -> Seen:
    """a causal sequence in tiles of two or three keys"""
    return both(tiled_attention(*a_causal_text(whole(7, 10, seed="n"), whole(2, 4, seed="block"), 2)))


@tiles.probe
def key_by_key(tiled_attention: Any) -> Seen:
    """tiles of a single key, causal and not, without a leading dimension"""
    query, key, d_k = distinct(3, 8, 3, seed="sizes")
    open_to_all = both(tiled_attention(*qkv(query, key, d_k, 2), 1))
    causal = both(tiled_attention(*a_causal_text(key, 1)))
    return {**open_to_all, "causal output": causal["output"], "causal lse": causal["lse"]}


@tiles.probe
def one_large_tile(tiled_attention: Any) -> Seen:
    """a block as large as the number of keys, and a larger one; two leading dimensions"""
    query, key, d_v = distinct(2, 7, 3, seed="sizes")
    exact = both(tiled_attention(*qkv(query, key, 4, d_v, 2, 3), key))
    larger = both(tiled_attention(*a_causal_text(key, key + whole(1, 9, seed="more"))))
    return {**exact, "causal output": larger["output"], "causal lse": larger["lse"]}


@tiles.probe
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


@tiles.probe
def huge_scores(tiled_attention: Any) -> Seen:
    """scores around 10,000, the largest in the last tile"""
    return both(tiled_attention(*steep(whole(6, 9, seed="n"), 10_000), 2))


@tiles.probe
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


@tiles.property
def gradients_of_huge_scores(tiled_attention: Any) -> Seen:
    """the gradients where scores are around ±10,000

    The values are right but, where scores are huge, the gradients are not. A difference of two infinities, or a factor
    of 0 times infinity, is hidden in the values and comes out on the way back.
    """
    n = whole(6, 9, seed="n")
    high = gradients_of(tiled_attention, (*steep(n, 10_000), 2))
    low = gradients_of(tiled_attention, (*steep(n, -10_000), 2, True))
    return {**high, **{f"{name}, causal": gradient for name, gradient in low.items()}}


@tiles.property
def no_whole_matrix(tiled_attention: Any) -> Seen:
    """a long sequence in small tiles

    Your values are right, but on the way you make a tensor with an entry for each pair of query and key. Tiles are
    there to avoid it: nothing needs to be larger than one tile.
    """
    return stays_small(tiled_attention, *qkv(many(), many(), 4, 3), 16)


@tiles.property
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
    tiles,
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


@tiles.assembled
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


@tiles.instead_of("rescale_total")
def sum_not_rescaled(highest: Tensor, new: Tensor) -> Tensor:
    """You forget to rescale the running sum when the largest score changes.

    What was summed so far was measured against the old maximum. Under the new one each term is smaller, by the same
    factor.
    """
    return as_before(highest, new)


@tiles.instead_of("rescale_output")
def output_not_rescaled(highest: Tensor, new: Tensor) -> Tensor:
    """You forget to rescale the running output when the largest score changes.

    The values so far were weighed against the old maximum. They take the same factor as the running sum.
    """
    return as_before(highest, new)


@tiles.misconception
def rescaled_the_wrong_way(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """You rescale by exp(new - old); it should be exp(old - new).

    The maximum only grows, so what was summed before can only become smaller.
    """

    def inverse(highest: Tensor, new: Tensor) -> Tensor:
        return torch.where(highest.isinf(), torch.zeros_like(new), torch.exp(new - highest))

    return tiled_in_steps(q, k, v, block, causal, rescale_total=inverse, rescale_output=inverse)


@tiles.instead_of("bounds")
def short_tile_dropped(keys: int, block: int) -> list[tuple[int, int]]:
    """You leave out the last tile where it is shorter than the others.

    `keys // block` counts whole tiles only.
    """
    return [(i * block, (i + 1) * block) for i in range(keys // block)]


@tiles.instead_of("scale")
def never_divided_by_the_root(d_k: int) -> float:
    """You do not divide the scores by the root of d_k.

    Output and lse are both of the scaled scores.
    """
    return 1.0


@tiles.instead_of("hides")
def counted_within_the_tile(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case you compare the position of a key within its tile with the query's position in the sequence.

    Key number 0 of the third tile is not key 0: add where the tile begins.
    """
    return columns - start > rows


@tiles.instead_of("hides")
def the_next_one_shown(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case each query sees one key too many, the next one.

    Query i sees the keys j ≤ i.
    """
    return columns > rows + 1


@tiles.instead_of("hides")
def itself_hidden(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """In the causal case a query does not see its own position.

    Query i sees the keys j ≤ i. The first one sees nothing otherwise, and that is NaN.
    """
    return columns >= rows


@tiles.instead_of("hides")
def causal_not_used(rows: Tensor, columns: Tensor, start: int) -> Tensor:
    """You do not use `causal`.

    With causal=True query i sees the keys j ≤ i only.
    """
    return torch.zeros_like(columns > rows)


@tiles.instead_of("begin")
def maximum_from_zero(q: Tensor) -> Tensor:
    """Your running maximum starts at 0.

    Where all scores are far below 0 it never moves, every power underflows to 0, and 0/0 is NaN. It has to start below
    every score.
    """
    return torch.zeros_like(q[..., :1])


@tiles.misconception
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


@tiles.instead_of("finish")
def never_normalised(output: Tensor, total: Tensor) -> Tensor:
    """You do not divide the output by the sum of the powers.

    The powers are weights only after the division, which comes once, after the last tile.
    """
    return output


@tiles.misconception
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


@tiles.instead_of("statistic")
def maximum_returned(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is the largest score alone.

    log Σ exp(s) lies above it, by the logarithm of the sum of exp(s - largest).
    """
    return highest.squeeze(-1)


@tiles.instead_of("statistic")
def maximum_not_added(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is the logarithm of the shifted sum; the largest score is missing.

    The sum was taken of exp(s - largest). Add the largest again: then two tiles can be compared.
    """
    return total.log().squeeze(-1)


@tiles.instead_of("statistic")
def in_base_two(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is in base 2.

    Fast kernels keep it so. Here it is the natural logarithm.
    """
    return log_of_the_sum(highest, total, q) / math.log(2)


@tiles.instead_of("statistic")
def sign_reversed(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse has the wrong sign.

    -lse is an energy, and a later chapter calls it so. Here it is log Σ exp(score).
    """
    return -log_of_the_sum(highest, total, q)


@tiles.instead_of("statistic")
def of_unscaled_scores(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """You multiply the lse by the root of d_k again.

    It belongs to the scaled scores, the ones that the softmax sees: so two tiles can be merged by it.
    """
    return log_of_the_sum(highest, total, q) * math.sqrt(q.shape[-1])


@tiles.instead_of("statistic")
def a_dimension_too_many(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse has one dimension too many, of size 1.

    `keepdim` is handy while you compute. What is returned is (..., query).
    """
    return highest + total.log()


@tiles.instead_of("statistic")
def statistic_detached(highest: Tensor, total: Tensor, q: Tensor) -> Any:
    """Your lse is cut from the graph.

    Whoever merges two tiles by it needs its gradient: both results are differentiable.
    """
    return log_of_the_sum(highest, total, q).detach()


@tiles.misconception
def one_matrix(q: Tensor, k: Tensor, v: Tensor, block: int, causal: bool = False) -> Any:
    """Your values are right, but you make all scores at once.

    The scores of a tile are all that is needed at a time. At 10,000 positions the whole matrix has 400 MB.
    """
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


# checkpointed ---------------------------------------------------------------------------------------------------------

saving = Exercise(
    checkpointed,
    section="Forget and compute again",
    minutes=15,
    difficulty=3,
    why="It trades time for memory in training; large models would not fit without it.",
    hints=[
        "Derive a class from `torch.autograd.Function`. What its forward calls is not recorded; you say what it saves.",
        "On the way back call the function on detached copies of the inputs, under `torch.enable_grad()`, and let "
        "autograd differentiate that. Which copies need a gradient? `ctx.needs_input_grad` knows.",
        "Dropout would draw other numbers in the second call. `torch.get_rng_state()` and `torch.set_rng_state()` move "
        "the generator; where does it have to stand afterwards?",
        "`torch.autograd.grad(output, inputs, incoming, allow_unused=True)` weighs by the gradient that comes in, and "
        "gives None for an input that was not used.",
    ],
    forbid=[CHECKPOINT],
)


class Watched:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *inputs: Tensor) -> Tensor:
        self.calls += 1
        return self.function(*inputs)


def curved(a: Tensor, b: Tensor) -> Tensor:
    return torch.tanh(a @ b).exp() * b.sum()


def with_chance(a: Tensor, b: Tensor) -> Tensor:
    """Drops a third of the entries, by torch's global generator."""
    product = a @ b
    kept = torch.rand(product.shape, dtype=product.dtype) > 0.33
    return torch.sin(product) * kept * torch.randn((), dtype=product.dtype)


def two_matrices(needs: str = "ab") -> list[Tensor]:
    n, m, d = distinct(3, 8, 3, seed="sizes")
    return [
        normal(n, m, seed="a", std=0.5).requires_grad_("a" in needs),
        normal(m, d, seed="b", std=0.5).requires_grad_("b" in needs),
    ]


def back(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The gradients of a weighed sum of the output; 0 for an input that has none."""
    if not output.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(output, inputs, normal(*output.shape, seed="incoming"), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


@saving.probe
def there_and_back(checkpointed: Any) -> Seen:
    """two matrices that need a gradient, and how often the function is called"""
    function, inputs = Watched(curved), two_matrices()
    output = checkpointed(function, *inputs)
    first = function.calls
    gradients = back(output, inputs)
    return {
        "output": output,
        "calls on the way forward": first,
        "calls in all": function.calls,
        "gradient of a": gradients[0],
        "gradient of b": gradients[1],
    }


@saving.probe
def with_random_numbers(checkpointed: Any) -> Seen:
    """a function that draws random numbers"""
    inputs = two_matrices()
    torch.manual_seed(whole(0, 10**9, seed="generator"))
    torch.rand(whole(1, 9, seed="before"))
    output = checkpointed(with_chance, *inputs)
    after_forward = torch.rand(3)
    gradients = back(output, inputs)
    return {
        "output": output,
        "numbers drawn after the way forward": after_forward,
        "gradient of a": gradients[0],
        "gradient of b": gradients[1],
        "numbers drawn after the way back": torch.rand(3),
    }


def picks(table: Tensor, ids: Tensor, fixed: Tensor, unused: Tensor) -> Tensor:
    return torch.sigmoid(table[ids] * fixed).square()


@saving.probe
def inputs_of_all_kinds(checkpointed: Any) -> Seen:
    """an input that is no leaf, ids, one that needs no gradient, and one that is not used"""
    rows, width, count = distinct(3, 8, 3, seed="sizes")
    leaf, unused = normal(rows, width, seed="table").requires_grad_(), normal(2, seed="unused").requires_grad_()
    ids, fixed = integers(0, rows, count, seed="ids"), normal(width, seed="fixed")
    output = checkpointed(picks, 2 * leaf, ids, fixed, unused)
    gradients = back(output, [leaf, unused])
    return {"output": output, "gradient of the leaf": gradients[0], "gradient of the unused": gradients[1]}


@saving.probe
def a_single_marked_input(checkpointed: Any) -> Seen:
    """only the second of two inputs needs a gradient"""
    inputs = two_matrices("b")
    output = checkpointed(curved, *inputs)
    (gradient,) = back(output, inputs[1:])
    return {"output": output, "gradient of b": gradient}


@saving.probe
def nothing_to_differentiate(checkpointed: Any) -> Seen:
    """no input that needs a gradient"""
    function = Watched(curved)
    output = checkpointed(function, *two_matrices(""))
    return {"output": output, "calls": function.calls, "needs a gradient": output.requires_grad}


@saving.probe
def one_after_the_other(checkpointed: Any) -> Seen:
    """two checkpoints, one on the output of the other, and an input used twice"""
    a, b = two_matrices()
    first = checkpointed(lambda x, y: torch.cos(x @ y), a, b)
    second = checkpointed(lambda x, y: x * y.sum() + x.square(), first, a)
    gradients = back(second, [a, b])
    return {"output": second, "gradient of a": gradients[0], "gradient of b": gradients[1]}


def long_chain(x: Tensor, scale: Tensor) -> Tensor:
    for _ in range(4):
        x = torch.exp(-(torch.sin(x) * scale).square())
    return x


@saving.property
def keeps_no_more_than_its_inputs(checkpointed: Any) -> Seen:
    """what is kept for the way back

    Values and gradients are right, but more than the inputs is kept for the way back. What the function computes in
    between must be forgotten: call it where nothing is recorded.
    """
    inputs = normal(6, 5, seed="x").requires_grad_(), normal(5, seed="scale").requires_grad_()
    kept: list[int] = []

    def pack(x: Tensor) -> Tensor:
        kept.append(x.numel() * x.element_size())
        return x

    with saved_tensors_hooks(pack, lambda x: x):
        checkpointed(long_chain, *inputs)
    return {"no more than the inputs": sum(kept) <= sum(x.numel() * x.element_size() for x in inputs)}


@saving.property
def leaves_its_inputs_marked_as_they_were(checkpointed: Any) -> Seen:
    """how the inputs are marked afterwards

    Your code changes `requires_grad` of an input, or leaves a gradient in its `.grad`. Both belong to the caller: work
    on detached copies.
    """
    inputs = two_matrices("b")
    output = checkpointed(curved, *inputs)
    back(output, inputs[1:])
    return {
        "a requires a gradient": inputs[0].requires_grad,
        "b requires a gradient": inputs[1].requires_grad,
        "nothing in .grad": all(x.grad is None for x in inputs),
    }


@saving.property
def where_nothing_is_recorded(checkpointed: Any) -> Seen:
    """a call under torch.no_grad()

    Under `torch.no_grad()` nothing needs a gradient: one call of the function is enough, and the output needs none.
    """
    function = Watched(curved)
    with torch.no_grad():
        output = checkpointed(function, *two_matrices())
    return {"output": output, "calls": function.calls, "needs a gradient": output.requires_grad}


def values_and_gradients(checkpointed: Any) -> Any:
    def call(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        inputs = [a.requires_grad_(), b.requires_grad_()]
        output = checkpointed(curved, *inputs)
        return output, *back(output.to(torch.float32), inputs)

    return call


def plain_matrices() -> tuple[Tensor, ...]:
    return tuple(two_matrices(""))


saving.property(keeps_inputs(plain_matrices, values_and_gradients))
for dtype in (torch.float64, torch.float16, torch.bfloat16):
    saving.property(same_in(dtype, plain_matrices, values_and_gradients))


def call_again(
    function: Any,
    inputs: Any,
    *,
    before: Any = torch.get_rng_state,
    start_from: Any = torch.set_rng_state,
    afterwards: Any = torch.set_rng_state,
    marked: Any = lambda needed: needed,
    differentiate: Any = None,
    after_forward: Any = lambda state: None,
    extra_calls: int = 0,
) -> Any:
    """A checkpoint whose steps can be replaced."""
    state = before()

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            ctx.save_for_backward(*inputs)
            for _ in range(extra_calls):
                function(*inputs)
            output = function(*inputs)
            after_forward(state)
            return output

        @staticmethod
        def backward(ctx: Any, incoming: Tensor) -> Any:
            needs = marked(ctx.needs_input_grad)
            copies = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, needs, strict=True)]
            here = torch.get_rng_state()
            start_from(state)
            with torch.enable_grad():
                output = function(*copies)
            afterwards(here)
            return (differentiate or differentiated)(output, copies, incoming)

    return Recomputed.apply(*inputs)


def differentiated(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
    wanted = [x for x in copies if x.requires_grad]
    found = iter(torch.autograd.grad(output, wanted, incoming, allow_unused=True))
    return tuple(next(found) if x.requires_grad else None for x in copies)


def nothing(state: Any) -> None:
    return None


@saving.misconception
def just_called(function: Any, *inputs: Tensor) -> Tensor:
    """You call the function and let autograd keep everything.

    Values and gradients are right, but nothing is saved: all that is computed in between is kept for the way back.
    """
    return function(*inputs)


@saving.misconception
def graph_cut(function: Any, *inputs: Tensor) -> Tensor:
    """Your output has no graph, so no gradient reaches the inputs.

    Under `no_grad`, or after `detach`, there is no way back. It has to be told how to get there: that is what the
    backward of a `torch.autograd.Function` is for.
    """
    with torch.no_grad():
        return function(*inputs)


@saving.misconception
def other_random_numbers(function: Any, *inputs: Tensor) -> Tensor:
    """In the second call the function draws other random numbers than in the first.

    The gradient then belongs to another dropout mask than the output. Keep the generator's state from before the first
    call, and start the second from it.
    """
    return call_again(function, inputs, start_from=nothing)


@saving.misconception
def generator_turned_back(function: Any, *inputs: Tensor) -> Tensor:
    """After the way back the generator does not stand where it stood before it.

    The second call repeats numbers that were drawn before. Whoever draws next must not get them again: put the state
    back.
    """
    return call_again(function, inputs, afterwards=nothing)


@saving.misconception
def generator_turned_back_at_once(function: Any, *inputs: Tensor) -> Tensor:
    """After the way forward the generator stands where it stood before the call.

    The next layer would draw the same numbers again. Turn it back for the second call only.
    """
    return call_again(function, inputs, after_forward=torch.set_rng_state)


@saving.misconception
def seeded_anew(function: Any, *inputs: Tensor) -> Tensor:
    """You seed the generator yourself, so that both calls draw the same.

    Then every call, in every layer and every step, draws the same numbers, and the caller's seed is lost. Keep the
    state that you find.
    """
    torch.manual_seed(0)
    return call_again(function, inputs, start_from=lambda state: torch.manual_seed(0))


@saving.misconception
def state_taken_too_late(function: Any, *inputs: Tensor) -> Tensor:
    """You take the generator's state after the first call.

    The second call then starts where the first one ended. Take it before.
    """
    return call_again(function, inputs, start_from=lambda state: torch.set_rng_state(late[0]), after_forward=note_state)


late: list[Tensor] = []


def note_state(state: Tensor) -> None:
    late[:] = [torch.get_rng_state()]


@saving.misconception
def incoming_gradient_ignored(function: Any, *inputs: Tensor) -> Tensor:
    """You ignore the gradient that comes in, and return the gradient of the output's sum.

    What comes in says how much each entry of the output matters for what follows. Weigh by it.
    """

    def of_the_sum(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        return differentiated(output, copies, torch.ones_like(output))

    return call_again(function, inputs, differentiate=of_the_sum)


@saving.misconception
def called_once_too_often(function: Any, *inputs: Tensor) -> Tensor:
    """You call the function twice on the way forward.

    Two calls in all are enough: one forward, one on the way back.
    """
    state = torch.get_rng_state()
    return call_again(function, inputs, before=lambda: state, extra_calls=1)


@saving.misconception
def called_for_each_input(function: Any, *inputs: Tensor) -> Tensor:
    """On the way back you call the function once for each input.

    One call gives the gradients of all inputs: `torch.autograd.grad` takes a list.
    """

    def one_by_one(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        for _ in range(sum(x.requires_grad for x in copies) - 1):
            state = torch.get_rng_state()
            function(*copies)
            torch.set_rng_state(state)
        return differentiated(output, copies, incoming)

    return call_again(function, inputs, differentiate=one_by_one)


@saving.misconception
def first_input_alone(function: Any, *inputs: Tensor) -> Tensor:
    """Only the first input gets a gradient.

    Return one for each input that needs it, in the order of the inputs, and None for the others.
    """

    def of_the_first(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        found = differentiated(output, copies, incoming)
        return found[0], *(None for _ in found[1:])

    return call_again(function, inputs, differentiate=of_the_first)


@saving.misconception
def every_input_marked(function: Any, *inputs: Tensor) -> Tensor:
    """You mark every input as one that needs a gradient, ids too.

    Only floating tensors can have one, and not every floating input needs one: `ctx.needs_input_grad` says which.
    """
    return call_again(function, inputs, marked=lambda needed: [True] * len(needed))


@saving.misconception
def unused_input_forgotten(function: Any, *inputs: Tensor) -> Tensor:
    """An input that the function does not use stops your way back.

    `torch.autograd.grad` refuses inputs that the output does not depend on, unless `allow_unused` is set.
    """

    def all_used(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        wanted = [x for x in copies if x.requires_grad]
        found = iter(torch.autograd.grad(output, wanted, incoming))
        return tuple(next(found) if x.requires_grad else None for x in copies)

    return call_again(function, inputs, differentiate=all_used)


@saving.misconception
def inputs_marked_for_good(function: Any, *inputs: Tensor) -> Tensor:
    """You mark the caller's own tensors as needing a gradient.

    Which inputs need one is the caller's decision. Mark detached copies instead.
    """
    for x in inputs:
        if x.is_floating_point() and x.is_leaf:
            x.requires_grad_()
    return call_again(function, inputs)


# cached_attention -----------------------------------------------------------------------------------------------------

caching = Exercise(
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


@caching.probe
def several_at_once(cached_attention: Any) -> Seen:
    """several new positions after a few old ones, heads in groups"""
    return attended(cached_attention(*some_past()))


@caching.probe
def the_very_first(cached_attention: Any) -> Seen:
    """several new positions and no cache"""
    new, d_k, d_v = distinct(3, 8, 3, seed="sizes")
    return attended(cached_attention(*new_positions(new, 6, 2, d_k, d_v, 3)))


@caching.probe
def one_at_a_time(cached_attention: Any) -> Seen:
    """a text that grows by one, two and one position"""
    d_k, d_v = distinct(3, 8, 2, seed="sizes")
    cache, outputs = None, []
    for turn, new in enumerate((1, 2, 1)):
        output, cache = cached_attention(*new_positions(new, 4, 2, d_k, d_v, 1, f"turn {turn}"), cache)
        outputs.append(output)
    keys, values = cache  # type: ignore[misc]
    return {"output": torch.cat(outputs, 2), "keys": keys, "values": values}


@caching.probe
def an_empty_cache(cached_attention: Any) -> Seen:
    """a cache of no position"""
    new, d_k, d_v = distinct(2, 7, 3, seed="sizes")
    return attended(cached_attention(*with_a_past(0, new, 4, 2, d_k, d_v)))


@caching.probe
def each_its_own(cached_attention: Any) -> Seen:
    """as many groups as heads, and a single group for all"""
    past, new, d_k = distinct(2, 6, 3, seed="sizes")
    own = attended(cached_attention(*with_a_past(past, new, 3, 3, d_k, 2)))
    shared = attended(cached_attention(*with_a_past(new, past, 4, 1, d_k, 3)))
    return {**own, **{f"{name} of a single group": value for name, value in shared.items()}}


@caching.probe
def one_of_everything(cached_attention: Any) -> Seen:
    """every size 1, with and without a cache"""
    first = attended(cached_attention(*new_positions(1, 1, 1, 1, 1, 1)))
    second = attended(cached_attention(*with_a_past(1, 1, 1, 1, 1, 1, 1)))
    return {**second, **{f"first {name}": value for name, value in first.items()}}


def of_one_shape() -> tuple[Any, ...]:
    q, k, v = new_positions(4, 4, 4, 4, 4, 4)
    return q, k, v, (normal(4, 4, 4, 4, seed="past k"), normal(4, 4, 4, 4, seed="past v"))


usual(caching, some_past, alike=of_one_shape)


def old_then_new(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return (k, v) if cache is None else (torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2))


def shifted_triangle(new: int, seen: int, device: Any) -> Tensor:
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new + 1)


def neighbours_share(x: Tensor, heads: int) -> Tensor:
    return x.repeat_interleave(heads // x.shape[1], dim=1)


def width_of_q(q: Tensor, v: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def joined(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    return pair


@caching.assembled
def cached_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: Any = None,
    *,
    join: Any = old_then_new,
    hides: Any = shifted_triangle,
    expand: Any = neighbours_share,
    scale: Any = width_of_q,
    keep: Any = joined,
) -> Any:
    pair = join(cache, k, v)
    keys, values = (expand(t, q.shape[1]) for t in pair)
    scores = q @ keys.mT / scale(q, v)
    scores = scores.masked_fill(hides(q.shape[2], keys.shape[2], q.device), -math.inf)
    return scores.softmax(-1) @ values, keep(pair, (keys, values), cache, k, v)


@caching.instead_of("expand")
def groups_dealt_out(x: Tensor, heads: int) -> Tensor:
    """You deal the groups out in turn: head 0 reads group 0, head 1 group 1, and so on round.

    `repeat` puts copies of the whole one after the other. Here neighbouring heads share a group, so each group stands
    several times in a row.
    """
    return x.repeat(1, heads // x.shape[1], 1, 1)


@caching.instead_of("expand")
def first_group_for_all(x: Tensor, heads: int) -> Tensor:
    """Every head reads the first group.

    Head h reads group h // (heads / groups).
    """
    return x[:, :1].expand(-1, heads, -1, -1)


@caching.instead_of("expand")
def groups_averaged(x: Tensor, heads: int) -> Tensor:
    """Every head reads the average of all groups.

    Groups have keys and values of their own; only the heads of one group share them.
    """
    return x.mean(1, keepdim=True).expand(-1, heads, -1, -1)


@caching.instead_of("hides")
def triangle_not_shifted(new: int, seen: int, device: Any) -> Tensor:
    """Your triangle is not shifted by the past: new position 0 sees the first key only.

    New position i is position past + i of the text. It sees the whole cache, and the new ones up to itself.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(1)


@caching.instead_of("hides")
def new_ones_unmasked(new: int, seen: int, device: Any) -> Tensor:
    """Where several positions are new, each sees all of them, later ones too.

    With one new position nothing has to be hidden. With several, the later ones are the future.
    """
    return torch.zeros(new, seen, dtype=torch.bool, device=device)


@caching.instead_of("hides")
def one_position_ahead(new: int, seen: int, device: Any) -> Tensor:
    """Each new position sees the one after it: your triangle is off by one.

    New position i sees the new positions 0 … i.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new + 2)


@caching.instead_of("hides")
def own_position_hidden(new: int, seen: int, device: Any) -> Tensor:
    """A new position does not see itself.

    It sees the cache and the new positions up to itself. Without a cache the first one sees nothing, and that is NaN.
    """
    return torch.ones(new, seen, dtype=torch.bool, device=device).triu(seen - new)


@caching.instead_of("hides")
def past_hidden(new: int, seen: int, device: Any) -> Tensor:
    """A new position sees the new ones, but not the cache.

    The cache is there to be looked at: all of it is the past.
    """
    hidden = shifted_triangle(new, seen, device)
    hidden[:, : seen - new] = True
    return hidden


@caching.instead_of("join")
def new_before_old(cache: Any, k: Tensor, v: Tensor) -> Any:
    """You put the new keys and values before the old ones.

    Positions are in the order of the text: first what was there, then what is new.
    """
    return (k, v) if cache is None else (torch.cat([k, cache[0]], 2), torch.cat([v, cache[1]], 2))


@caching.instead_of("join")
def cache_not_used(cache: Any, k: Tensor, v: Tensor) -> Any:
    """You do not use the cache.

    The new positions see each other only, as if the text began with them.
    """
    return k, v


@caching.instead_of("keep")
def only_new_ones_kept(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return holds the new positions only.

    The next call needs all positions so far: return the old ones and the new ones together.
    """
    return k, v


@caching.instead_of("keep")
def kept_for_each_head(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return is expanded to all heads.

    Then groups save nothing, and the next call would expand it once more. Keep it as it is, with one entry for each
    group.
    """
    return expanded


@caching.instead_of("keep")
def given_cache_returned(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """You return the cache that you were given, without the new positions.

    The next call would not know them.
    """
    return (k, v) if cache is None else cache


@caching.instead_of("keep")
def values_first(pair: Any, expanded: Any, cache: Any, k: Tensor, v: Tensor) -> Any:
    """The cache that you return is (values, keys).

    The pair is keys first, then values.
    """
    return pair[1], pair[0]


@caching.instead_of("scale")
def scores_not_scaled(q: Tensor, v: Tensor) -> float:
    """You do not divide the scores by the root of d_k.

    A cache changes what is computed again, not what is computed.
    """
    return 1.0


@caching.instead_of("scale")
def scaled_by_all_heads(q: Tensor, v: Tensor) -> float:
    """You divide the scores by the root of the width of all heads together.

    A score sums over the d_k components of one head.
    """
    return math.sqrt(q.shape[1] * q.shape[-1])


@caching.misconception
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


# cache_bytes ----------------------------------------------------------------------------------------------------------

bytes_of_the_cache = Exercise(
    cache_bytes,
    section="The cache",
    minutes=5,
    difficulty=1,
    why="While a model writes, this number decides how long the text and how large the batch may be.",
    hints=[
        "How many numbers does one position leave in the cache of one layer? Keys and values both.",
        "Each group has a key and a value of the width of one head: d_model / n_heads.",
        "`dtype.itemsize` says how many bytes a number of that dtype takes.",
    ],
)


def model_sizes() -> tuple[int, ...]:
    """Layers, heads, groups, d_model, length: heads a multiple of groups, d_model of heads."""
    layers, groups, share, d_head, length = distinct(2, 12, 5, seed="sizes")
    return layers, groups * share, groups, groups * share * d_head, length


@bytes_of_the_cache.probe
def one_sequence(cache_bytes: Any) -> Seen:
    """one sequence, nothing said of batch and dtype"""
    return {"bytes": cache_bytes(*model_sizes())}


@bytes_of_the_cache.probe
def a_batch_of_them(cache_bytes: Any) -> Seen:
    """a batch in float32, float64, bfloat16 and int8"""
    batch = whole(2, 9, seed="batch")
    kinds = torch.float32, torch.float64, torch.bfloat16, torch.int8
    return {f"bytes in {str(kind)[6:]}": cache_bytes(*model_sizes(), batch, kind) for kind in kinds}


@bytes_of_the_cache.probe
def by_name(cache_bytes: Any) -> Seen:
    """arguments by name; every head its own group, and all of them one group"""
    layers, heads, _, d_model, length = model_sizes()
    sizes = {"n_layers": layers, "n_heads": heads, "d_model": d_model, "length": length}
    return {
        "own": cache_bytes(**sizes, n_groups=heads, dtype=torch.float32),
        "shared": cache_bytes(**sizes, n_groups=1, batch=whole(2, 9, seed="batch")),
    }


@bytes_of_the_cache.probe
def a_large_model(cache_bytes: Any) -> Seen:
    """a model with 64 heads of width 128, and a long text"""
    length = whole(100_000, 200_000, seed="length")
    return {"bytes": cache_bytes(80, 64, 8, 8192, length, batch=whole(2, 33, seed="batch"))}


@bytes_of_the_cache.property
def nothing_remembered(cache_bytes: Any) -> Seen:
    """a text of no position

    Nothing is remembered of a text of length 0: it takes 0 bytes.
    """
    return {"bytes": cache_bytes(3, 6, 2, 12, 0)}


def keys_and_values() -> int:
    return 2


def groups_kept(n_heads: int, n_groups: int) -> Any:
    return n_groups


def width_of_a_head(d_model: int, n_heads: int, n_groups: int) -> Any:
    return d_model // n_heads


def bytes_each(dtype: torch.dtype) -> Any:
    return dtype.itemsize


@bytes_of_the_cache.assembled
def bytes_in_steps(
    n_layers: int,
    n_heads: int,
    n_groups: int,
    d_model: int,
    length: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
    *,
    of_what: Any = keys_and_values,
    copies: Any = groups_kept,
    width: Any = width_of_a_head,
    size: Any = bytes_each,
    positions: Any = lambda length: length,
    layers: Any = lambda n_layers: n_layers,
    sequences: Any = lambda batch: batch,
) -> Any:
    numbers = of_what() * layers(n_layers) * sequences(batch) * positions(length)
    return numbers * copies(n_heads, n_groups) * width(d_model, n_heads, n_groups) * size(dtype)


@bytes_of_the_cache.instead_of("of_what")
def keys_alone() -> int:
    """You count keys or values, not both.

    A position leaves two vectors for each group: a key to be found by, and a value to be read.
    """
    return 1


@bytes_of_the_cache.instead_of("of_what")
def queries_too() -> int:
    """You count the queries as well.

    A query asks once, when its position is new. Nobody needs it again.
    """
    return 3


@bytes_of_the_cache.instead_of("copies")
def every_head_counted(n_heads: int, n_groups: int) -> int:
    """You count keys and values for every head; groups save nothing then.

    Only the groups have keys and values of their own.
    """
    return n_heads


@bytes_of_the_cache.instead_of("copies")
def heads_of_a_group(n_heads: int, n_groups: int) -> int:
    """You multiply by the heads for each group, where the number of groups should stand.

    Fewer groups make the cache smaller.
    """
    return n_heads // n_groups


@bytes_of_the_cache.instead_of("width")
def width_of_the_model(d_model: int, n_heads: int, n_groups: int) -> int:
    """You take each group to be as wide as the model.

    A group is as wide as one head: d_model / n_heads.
    """
    return d_model


@bytes_of_the_cache.instead_of("width")
def a_point_in_the_number(d_model: int, n_heads: int, n_groups: int) -> float:
    """You return a float; a `/` is the usual reason.

    Bytes are counted in whole numbers: use `//`.
    """
    return d_model / n_heads


@bytes_of_the_cache.instead_of("size")
def two_bytes_always(dtype: torch.dtype) -> int:
    """You take 2 bytes for each number, whatever `dtype` says.

    That is right for float16 and bfloat16. float32 takes 4.
    """
    return 2


@bytes_of_the_cache.instead_of("size")
def numbers_counted(dtype: torch.dtype) -> int:
    """You count numbers, not bytes.

    `dtype.itemsize` says how many bytes each takes.
    """
    return 1


@bytes_of_the_cache.instead_of("size")
def bits_counted(dtype: torch.dtype) -> int:
    """You count bits.

    A byte has eight of them; float16 takes two bytes.
    """
    return 8 * dtype.itemsize


@bytes_of_the_cache.instead_of("positions")
def one_position(length: int) -> int:
    """You count one position; the length has no effect.

    Every earlier position stays in the cache: it grows with the text.
    """
    return 1


@bytes_of_the_cache.instead_of("layers")
def one_layer(n_layers: int) -> int:
    """You count one layer.

    Every layer has keys and values of its own.
    """
    return 1


@bytes_of_the_cache.instead_of("sequences")
def one_sequence_alone(batch: int) -> int:
    """You count one sequence, whatever `batch` says.

    Sequences do not share what they remember.
    """
    return 1


@bytes_of_the_cache.misconception
def float32_unless_said(
    n_layers: int,
    n_heads: int,
    n_groups: int,
    d_model: int,
    length: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float32,
) -> int:
    """Unless a dtype is given, you count float32.

    The default of `dtype` is float16, which is what caches are kept in.
    """
    return cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch, dtype)
