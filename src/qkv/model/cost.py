"""Cost: what attention takes in operations and bytes, and six ways to pay less.

Beltagy et al. 2020 (windows); Wang et al. 2020 (Linformer); Katharopoulos et al. 2020 (linear attention); Dao et al.
2022 (tiles); Chen et al. 2016 (checkpoints); Shazeer 2019 and Ainslie et al. 2023 (heads that share keys and values).
Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects
from qkv.model.lookup import similarity_scores, softmax
from qkv.model.scaling import scaled_dot_product_attention


@expects(n="size", d_model="positive", n_heads="divides d_model", d_ff="positive")
def layer_flops(
    n: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
) -> tuple[int, int, int]:
    """Count the arithmetic of one encoder layer's matrix products.

    It is the forward pass of one sequence. Each multiplication with its addition
    counts 2. Biases, softmax and norms are left out, and a mask saves nothing.

    Args:
        n: number of positions.
        d_model: width of the sequence's vectors.
        n_heads: number of heads; each is d_model / n_heads wide.
        d_ff: width inside the feed-forward network.

    Returns:
        three integers: the four projections of queries, keys, values and output;
        the mixing of positions, that is scores and weighted averages of all
        heads; the two layers of the feed-forward network.
    """
    d_head = d_model // n_heads
    projections = 4 * (2 * n * d_model * d_model)
    scores = averages = n_heads * (2 * n * n * d_head)  # q @ k.T and weights @ v
    feed_forward = 2 * (2 * n * d_model * d_ff)  # up and down
    return projections, scores + averages, feed_forward


@expects(q="... n d_k", k="... n d_k", v="... n d_v", window="positive", dilation="positive")
def window_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    window: int,
    dilation: int = 1,
) -> Tensor:
    """Let every position look at itself and at a few positions before it.

    Query i sees the keys i, i - dilation, i - 2·dilation, …: `window` of them, as
    far as they exist. Nothing of n·n entries is made.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        window: how many keys a query sees, itself included; it may reach beyond
            the first position.
        dilation: the step from one visible key to the next.

    Returns:
        output (..., n, d_v), scores divided by the root of d_k.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    n, d_k = q.shape[-2:]
    back = dilation * torch.arange(window, device=q.device)
    seen = torch.arange(n, device=q.device)[:, None] - back  # (n, window), positions of keys
    keys = k[..., seen.clamp(min=0), :]  # (..., n, window, d_k)
    values = v[..., seen.clamp(min=0), :]
    scores = (keys @ q.unsqueeze(-1)).squeeze(-1) / math.sqrt(d_k)  # (..., n, window)
    weights = softmax(scores.masked_fill(seen < 0, -math.inf), dim=-1)
    return (weights.unsqueeze(-2) @ values).squeeze(-2)


@expects(q="... query d_k", k="... key d_k", v="... key d_v", e="rank key", f="rank key")
def linformer_attention(q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor) -> Tensor:
    """Attend to a few mixtures of keys instead of to every key.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).
        v: values (..., key, d_v).
        e: which mixtures of the keys (rank, key), the same for every batch.
        f: which mixtures of the values (rank, key).

    Returns:
        output (..., query, d_v): softmax attention, scores divided by the root
        of d_k, over rank mixed keys and values.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    output, _ = scaled_dot_product_attention(q, e @ k, f @ v)
    return output


@expects(q="... query d_k", k="... key d_k", v="... key d_v", causal="needs query = key")
def linear_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Weigh by a product of features, so that sums over keys are made once.

    The weight of key j for query i is φ(q_i)·φ(k_j), divided by the sum of the
    weights of all visible keys, with φ(x) = elu(x) + 1. No tensor has an entry
    for each pair of query and key.

    Args:
        q: queries (..., query, d_k), entries of moderate size.
        k: keys (..., key, d_k), entries of moderate size.
        v: values (..., key, d_v).
        causal: query i sees the keys j ≤ i only; then there are as many queries
            as keys.

    Returns:
        output (..., query, d_v). Nothing is scaled, no epsilon is added.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    q, k = F.elu(q) + 1, F.elu(k) + 1  # positive features
    if causal:
        memory = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(dim=-3)  # (..., query, d_k, d_v), of the keys so far
        total = k.cumsum(dim=-2)  # (..., query, d_k)
        return (q.unsqueeze(-2) @ memory).squeeze(-2) / (q * total).sum(dim=-1, keepdim=True)
    memory = k.transpose(-2, -1) @ v  # (..., d_k, d_v), one for all queries
    total = k.sum(dim=-2, keepdim=True)  # (..., 1, d_k)
    return q @ memory / (q * total).sum(dim=-1, keepdim=True)


@expects(q="... query d_k", k="... key d_k", v="... key d_v", block="positive", causal="needs query = key")
def tiled_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block: int,
    causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attend exactly, but read the keys `block` at a time.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).
        v: values (..., key, d_v).
        block: how many keys a tile has; the last one may be shorter.
        causal: query i sees the keys j ≤ i only; then there are as many queries
            as keys.

    Returns:
        output (..., query, d_v), softmax attention with scores divided by the
        root of d_k, and lse (..., query), the logarithm of the sum of exp(score)
        over the visible keys. Both as stable as softmax.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    queries = torch.arange(q.shape[-2], device=q.device)
    highest = torch.full_like(q[..., :1], -math.inf)  # (..., query, 1), of the scores so far
    total = torch.zeros_like(highest)  # of exp(score - highest)
    output = q.new_zeros(*q.shape[:-1], v.shape[-1])  # the values, weighed by these
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        scores = similarity_scores(q, keys) / math.sqrt(q.shape[-1])  # (..., query, block)
        if causal:
            positions = start + torch.arange(keys.shape[-2], device=q.device)
            scores = scores.masked_fill(positions > queries[:, None], -math.inf)
        new = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))
        rescale, powers = torch.exp(highest - new), torch.exp(scores - new)
        total = total * rescale + powers.sum(dim=-1, keepdim=True)
        output = output * rescale + powers @ values
        highest = new
    return output / total, (highest + total.log()).squeeze(-1)


def checkpointed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """Call a function, keep its inputs alone, and compute again on the way back.

    Args:
        function: takes the inputs, gives one tensor, has no parameters of its
            own. It may draw from torch's global generator of the CPU: the second
            call draws the same numbers.
        inputs: tensors (...) of any shapes and dtypes. Those that require a
            gradient get one; how they are marked is not changed.

    Returns:
        function(*inputs). The generator stands where one call leaves it, and
        the way back leaves it where it was.

    To be written without torch.utils.checkpoint.
    """
    before = torch.get_rng_state()

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            ctx.save_for_backward(*inputs)
            return function(*inputs)  # torch records nothing in here

        @staticmethod
        def backward(ctx: Any, incoming: Tensor) -> tuple[Tensor | None, ...]:
            copies = [x.detach().requires_grad_(ctx.needs_input_grad[i]) for i, x in enumerate(ctx.saved_tensors)]
            wanted = [x for x in copies if x.requires_grad]
            now = torch.get_rng_state()
            torch.set_rng_state(before)  # the same random numbers again
            with torch.enable_grad():
                output = function(*copies)
            torch.set_rng_state(now)
            found = iter(torch.autograd.grad(output, wanted, incoming, allow_unused=True))
            return tuple(next(found) if x.requires_grad else None for x in copies)

    return Recomputed.apply(*inputs)


@expects(
    q="batch head new d_k",
    k="batch group/head new d_k",
    v="batch group new d_v",
    cache=("batch group past* d_k", "batch group past* d_v"),
)
def cached_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attend from new positions to all positions so far, and remember their keys.

    A new position sees the whole cache, and the new positions up to itself.
    Neighbouring heads share keys and values: with 6 heads and 2 groups, heads
    0, 1, 2 read group 0 and heads 3, 4, 5 read group 1.

    Args:
        q: queries of the new positions (batch, head, new, d_k).
        k: their keys (batch, group, new, d_k); group divides head.
        v: their values (batch, group, new, d_v).
        cache: keys (batch, group, past, d_k) and values (batch, group, past, d_v)
            of the positions before, or None if there are none.

    Returns:
        output (batch, head, new, d_v), scores divided by the root of d_k, and
        the cache for the next call: keys (batch, group, past + new, d_k) and
        values (batch, group, past + new, d_v). The given cache is not changed.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    if cache is not None:
        k = torch.cat([cache[0], k], dim=2)
        v = torch.cat([cache[1], v], dim=2)
    positions = torch.arange(k.shape[2], device=q.device)
    mask = positions[-q.shape[2] :, None] >= positions  # (new, past + new)
    share = q.shape[1] // k.shape[1]  # heads for each group
    output, _ = scaled_dot_product_attention(
        q, k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1), mask
    )
    return output, (k, v)


@expects(
    n_layers="size",
    d_model="positive",
    n_heads="divides d_model",
    n_groups="divides n_heads",
    length="size",
    batch="size",
)
def cache_bytes(
    n_layers: int,
    n_heads: int,
    n_groups: int,
    d_model: int,
    length: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    """Say how much memory the keys and values of all earlier positions take.

    Args:
        n_layers: number of layers, each with a cache of its own.
        n_heads: number of heads; each is d_model / n_heads wide.
        n_groups: how many of them have keys and values of their own.
        d_model: width of the model.
        length: number of positions that are remembered.
        batch: number of sequences.
        dtype: of the cached numbers.

    Returns:
        bytes, an integer.
    """
    d_head = d_model // n_heads
    numbers = 2 * n_layers * batch * length * n_groups * d_head  # keys and values
    return numbers * dtype.itemsize
