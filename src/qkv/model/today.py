"""Today: what has changed since GPT-2 in the models whose weights are published, and how they are read more cheaply.

Shazeer 2020 (SwiGLU); Peng et al. 2023 (RoPE stretched by parts); Touvron et al. 2023 and Qwen team 2025 (the whole
model); Fedus et al. 2022 and Jiang et al. 2024 (experts); DeepSeek-AI 2024 (a latent cache); Leviathan et al. 2023
(drafts); Dettmers and Zettlemoyer 2023 (weights in four bits). Shapes: see model/__init__.py. No projection has a bias.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.cost import cached_attention
from qkv.model.expect import expects
from qkv.model.heads import merge_heads, split_heads
from qkv.model.lookup import softmax
from qkv.model.norm import RMSNorm
from qkv.model.positions import also, turn

Cache = tuple[Tensor, Tensor]


def no_stretch(d: int, factor: float, length: float, base: float, slow: float, fast: float) -> str:
    if not factor >= 1:
        return f"factor is {factor}, expected 1 or more: a text gets longer, not shorter."
    if not 0 < length < math.inf:
        return f"length is {length}, expected a number above 0: how many positions the model was trained at."
    if not base > 0:
        return f"base is {base}, expected a number above 0."
    return "" if slow <= fast else f"fast is {fast}, expected at least slow = {slow}."


def odd_heads(self: nn.Module, **arguments: Any) -> str:
    d_head = arguments["d_head"]
    if d_head is None:
        d_model, n_heads = arguments["d_model"], arguments["n_heads"]
        if d_model % n_heads:
            return f"d_model is {d_model}, which {n_heads} heads do not divide. Say how wide a head is: d_head=…."
        d_head = d_model // n_heads
    return f"d_head is {d_head}, expected an even number: components turn in pairs (2i, 2i+1)." if d_head % 2 else ""


def other_pairs(self: nn.Module, x: Tensor, frequencies: Tensor, cache: Any) -> str:
    pairs = self.d_head // 2  # type: ignore[operator]
    if frequencies.shape == (pairs,):
        return ""
    return (
        f"frequencies has shape {tuple(frequencies.shape)}, expected ({pairs},): one for each pair of the "
        f"d_head = {self.d_head} components of a head."
    )


def not_a_cache_a_layer(self: Llama, ids: Tensor, caches: Any) -> str:
    vocab, n_layers = self.tokens.num_embeddings, len(self.layers)
    other = ids[(ids < 0) | (ids >= vocab)]
    if len(other):
        return f"ids contains {int(other[0])}, expected 0 to {vocab - 1}."
    if caches is None:
        return ""
    if not isinstance(caches, list | tuple):
        return f"caches is a {type(caches).__name__}, expected a list of {n_layers} pairs, one a layer, or None."
    if len(caches) != n_layers:
        return f"caches holds {len(caches)} pairs, expected {n_layers}: one a layer."
    return ""


def too_few_experts(logits: Tensor, k: int) -> str:
    n = logits.shape[-1]
    if k > n:
        return f"k is {k}, expected at most n = {n}: a token can't go to more experts than there are."
    return "" if logits.numel() else f"logits has shape {tuple(logits.shape)}, expected at least one token."


def more_new_than_keys(q: Tensor, latent: Tensor, **others: Tensor) -> str:
    new, key = q.shape[2], latent.shape[1]
    return f"q has {new} positions and latent {key}; the new ones should be the last of all." if new > key else ""


def not_a_draft(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> str:
    n, vocab = q.shape
    if len(p) != n + 1:
        return f"p has {len(p)} rows for {n} drafted words, expected {n + 1}: one for each, and one for what follows."
    for t, x in enumerate(drafted.tolist()):
        if not 0 <= x < vocab:
            return f"drafted[{t}] is {x}, expected 0 to {vocab - 1}."
        if not q[t, x] > 0:
            return f"q[{t}, {x}] is {float(q[t, x])}, so the draft can't have chosen {x}. Which q was it drawn from?"
    return ""


def other_bits(weight: Tensor, bits: int, group: int) -> str:
    if isinstance(bits, int) and 2 <= bits <= 8:
        return ""
    return f"bits is {bits!r}, expected an integer from 2 to 8: codes are kept in int8."


class SwiGLU(nn.Module):
    """A feed-forward network in which one half says how much of the other passes.

    Args:
        d_model: width of the vectors that come in and go out.
        d_ff: width inside.

    To be written without torch's own SiLU.
    """

    @expects(d_model="positive", d_ff="positive")
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    @expects(x="... d_model")
    def forward(self, x: Tensor) -> Tensor:
        """Work on every vector by itself: down(silu(gate(x)) · up(x)).

        Args:
            x: vectors (..., d_model).

        Returns:
            vectors (..., d_model). silu(z) = z·σ(z), σ the logistic function. It
            and its gradient are finite where gate(x) is ±1e4: there silu is z on
            the right and 0 on the left.
        """
        return self._down(self._open(self._gate(x)), self._up(x))

    def _gate(self, x: Tensor) -> Tensor:
        return self.gate(x)

    def _up(self, x: Tensor) -> Tensor:
        return self.up(x)

    def _open(self, z: Tensor) -> Tensor:
        """silu: how far each gate is open."""
        return z * torch.sigmoid(z)

    def _down(self, opened: Tensor, passing: Tensor) -> Tensor:
        return self.down(opened * passing)


@expects(d="even")
@also.expects(no_stretch)
def stretched_frequencies(
    d: int,
    factor: float,
    length: float,
    base: float = 10000.0,
    slow: float = 1.0,
    fast: float = 4.0,
) -> Tensor:
    """Slow down the clocks of RoPE, so that a longer text shows no unknown angle.

    Pair i of d/2, i = 0, 1, …, has the speed f_i = base^(-2i/d), in radians a
    position, and comes round r_i = length·f_i/2π times within the length that the
    model was trained at. A pair that comes round `fast` times or more keeps its
    speed. One that comes round `slow` times or less is slowed down by `factor`.
    In between, keep_i = (r_i - slow)/(fast - slow) of its speed is kept, and
    1 - keep_i of it slowed down: f_i·(keep_i + (1 - keep_i)/factor).

    Args:
        d: width of a head, even.
        factor: how many times longer texts get, 1 or more; 1 changes nothing.
        length: how many positions the model was trained at, above 0, whole or
            not.
        base: as in `rotate`.
        slow: turns within length, up to which a pair is slowed down by factor.
        fast: turns within length, from which on a pair keeps its speed. If it
            equals slow, a pair with r_i ≥ slow keeps its speed and others do not;
            both infinite slow down all pairs. fast < slow is undefined.

    Returns:
        frequencies (d/2,) in torch's default dtype, six digits right.
    """
    column = torch.arange(0, d, 2, dtype=torch.float64)  # 2i
    speeds = base ** (-column / d)
    turns = length * speeds / (2 * math.pi)  # r_i
    keep = (turns >= slow).double() if slow == fast else ((turns - slow) / (fast - slow)).clamp(0, 1)
    return (speeds * (keep + (1 - keep) / factor)).to(torch.get_default_dtype())


class GroupedAttention(nn.Module):
    """Attention of today: heads in groups, turned, with a cache, maybe with norms.

    Args:
        d_model: width of the stream.
        n_heads: number of heads.
        n_groups: how many of them have keys and values of their own; it divides
            n_heads.
        d_head: width of a head, even; n_heads·d_head need not be d_model.
        qk_norm: whether queries and keys are normalised.
        eps: of these norms.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", n_heads="positive", n_groups="divides n_heads", d_head="positive")
    @also.expects(odd_heads)
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_groups: int,
        d_head: int,
        qk_norm: bool = False,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.n_groups = n_groups
        self.d_head = d_head
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.q_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()

    @expects(x="batch new d_model", cache=("batch n_groups past* d_head", "batch n_groups past* d_head"))
    @also.expects(other_pairs)
    def forward(self, x: Tensor, frequencies: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """Attend from new positions to themselves, up to each, and to all before.

        Head h is columns h·d_head … (h+1)·d_head-1 of its projection. The q of
        every head and the k of every group go through q_norm and k_norm, over
        d_head and with the same gains for all heads, and are turned after that
        by `turn`, at the positions past, past+1, …; v is neither normalised nor
        turned. What follows is `cached_attention`.

        Args:
            x: the stream at the new positions (batch, new, d_model).
            frequencies: the speed of each pair (d_head/2,), a constant.
            cache: turned keys and values of the positions before, a pair of
                (batch, group, past, d_head), or None if there are none. It is
                not changed.

        Returns:
            output (batch, new, d_model), and the cache for the next call: keys
            as they were after the turn and plain values, each (batch, group,
            past+new, d_head).
        """
        past = 0 if cache is None else cache[0].shape[2]
        positions = torch.arange(past, past + x.shape[1], device=x.device)
        q, k, v = self._project(x)  # (batch, head, new, d_head), twice (batch, group, new, d_head)
        q, k = self._turn(*self._normed(q, k), positions, frequencies)
        output, cache = self._attend(q, k, v, cache)
        return self._out(output), cache

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return split_heads(q, self.n_heads), split_heads(k, self.n_groups), split_heads(v, self.n_groups)

    def _normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Each head by itself: a norm over its d_head components."""
        return self.q_norm(q), self.k_norm(k)

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
        return turn(q, positions, frequencies), turn(k, positions, frequencies)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        return cached_attention(q, k, v, cache)

    def _out(self, heads: Tensor) -> Tensor:
        return self.out_proj(merge_heads(heads))


class Llama(nn.Module):
    """Score the next token, as the models do whose weights are published today.

    Args:
        vocab: number of tokens.
        d_model: width of the stream.
        n_heads: heads in each attention.
        n_groups: how many of them have keys and values of their own.
        n_layers: number of layers.
        d_ff: width inside each SwiGLU.
        d_head: width of a head, even; d_model/n_heads if None.
        qk_norm: whether queries and keys are normalised.
        tied: whether the embedding serves as the last matrix; then `out` is None.
        base: of RoPE: the speeds are base^(-2i/d_head).
        eps: of every norm.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(
        vocab="positive",
        d_model="positive",
        n_heads="positive",
        n_groups="divides n_heads",
        n_layers="positive",
        d_ff="positive",
        d_head="positive",
    )
    @also.expects(odd_heads)
    def __init__(
        self,
        vocab: int,
        d_model: int,
        n_heads: int,
        n_groups: int,
        n_layers: int,
        d_ff: int,
        d_head: int | None = None,
        qk_norm: bool = False,
        tied: bool = False,
        base: float = 10000.0,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        width = d_model // n_heads if d_head is None else d_head
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts: dict[str, nn.Module] = {
                "norm1": RMSNorm(d_model, eps),
                "attention": GroupedAttention(d_model, n_heads, n_groups, width, qk_norm, eps),
                "norm2": RMSNorm(d_model, eps),
                "feed_forward": SwiGLU(d_model, d_ff),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = RMSNorm(d_model, eps)
        self.out = None if tied else nn.Linear(d_model, vocab, bias=False)
        speeds = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", speeds, persistent=False)

    @expects(ids="int: batch new")
    @also.expects(not_a_cache_a_layer)
    def forward(self, ids: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        """Read new tokens after those that the caches hold; each layer adds twice.

        A layer gives x + attention(norm1(x)), then x + feed_forward(norm2(x)).
        Tokens are embedded as they are. A text gives the same logits whether it
        is read at once, in pieces or word by word.

        Args:
            ids: the new tokens (batch, new), int64.
            caches: what the last call returned, a list of one pair (keys,
                values) a layer, or None if nothing was read yet. Neither the
                list nor the pairs are changed.

        Returns:
            logits (batch, new, vocab): at each position for the token after it,
            out(norm(x)); tied, norm(x) times the transposed embedding. And the
            caches for the next call. The attentions get the buffer `frequencies`
            as it stands, a constant.
        """
        before = [None] * len(self.layers) if caches is None else caches
        after = []
        x = self._embedded(ids)
        for layer, cache in zip(self.layers, before, strict=True):
            x, cache = self._layer(layer, x, cache)
            after.append(cache)
        return self._logits(x), after

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.tokens(ids)

    def _layer(self, layer: Any, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        x, cache = self._attended(layer, x, cache)
        return self._worked(layer, x), cache

    def _attended(self, layer: Any, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        seen, cache = layer["attention"](layer["norm1"](x), self._speeds(), cache)
        return x + seen, cache

    def _worked(self, layer: Any, x: Tensor) -> Tensor:
        return x + layer["feed_forward"](layer["norm2"](x))

    def _speeds(self) -> Tensor:
        return self.frequencies  # type: ignore[return-value]

    def _logits(self, x: Tensor) -> Tensor:
        return self._scores(self.norm(x))

    def _scores(self, x: Tensor) -> Tensor:
        return x @ self.tokens.weight.T if self.out is None else self.out(x)


@expects(logits="... n", k="positive")
@also.expects(too_few_experts)
def route_tokens(logits: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Choose k of n experts for every token, and say how evenly they are loaded.

    Args:
        logits: how well each expert suits each token (..., n), of any size up to
            ±1e4; at least one token.
        k: how many experts a token goes to, 1 … n.

    Returns:
        weights (..., k), the softmax over all n, of this the k chosen, divided by
        their sum; experts (..., k), int64, the k with the largest logits, best
        first, of equals the smaller id first; balance, a scalar n·Σ_e f_e·P_e
        over all leading dimensions together. f_e is the share of all assignments
        of a token to an expert, k a token, that went to e (Σ f = 1); it is a
        constant, no gradient passes through it. P_e is the mean over tokens of
        the softmax of e. Perfectly even P gives 1, all on one expert up to n/k.
    """
    p = softmax(logits, -1)
    experts = logits.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    chosen = p.gather(-1, experts)
    weights = chosen / chosen.sum(dim=-1, keepdim=True)
    n = logits.shape[-1]
    went = experts.unsqueeze(-1) == torch.arange(n, device=logits.device)  # (..., k, n)
    f = went.reshape(-1, n).to(p.dtype).mean(dim=0)
    balance = n * (f * p.reshape(-1, n).mean(dim=0)).sum()
    return weights, experts, balance


@expects(
    q="batch head new d_k",
    latent="batch key rank",
    w_k="head d_k rank",
    w_v="head d_v rank",
    q_turned="batch head new d_r*",
    k_turned="batch key d_r*",
)
@also.expects(more_new_than_keys)
def latent_attention(
    q: Tensor,
    latent: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    q_turned: Tensor,
    k_turned: Tensor,
) -> Tensor:
    """Attend to positions of which only a short vector is kept, one for all heads.

    The key of head h at position j would be w_k[h] @ latent[j], beside it
    k_turned[j], which all heads share; its value would be w_v[h] @ latent[j].
    Neither is ever made: of 256 keys of width 256, no operation gives as many
    entries as the keys of a single head have, the batch aside.

    Args:
        q: queries of the new positions (batch, head, new, d_k).
        latent: what is kept of every position (batch, key, rank).
        w_k: makes keys of latents (head, d_k, rank).
        w_v: makes values of latents (head, d_v, rank).
        q_turned: queries' part that RoPE has turned (batch, head, new, d_r);
            d_r may be 0.
        k_turned: keys' part that RoPE has turned (batch, key, d_r).

    Returns:
        output (batch, head, new, d_v). A score is the sum of both parts' dot
        products, divided by the root of d_k + d_r. The new positions are the
        last of the keys', and each sees those up to itself.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    new, key = q.shape[2], latent.shape[1]
    asked = q @ w_k  # (batch, head, new, rank): the query, put to latents
    scores = asked @ latent.mT.unsqueeze(1) + q_turned @ k_turned.mT.unsqueeze(1)  # (batch, head, new, key)
    positions = torch.arange(key, device=q.device)
    hidden = positions > positions[-new:, None]
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    weights = softmax(scores.masked_fill(hidden, -math.inf), dim=-1)
    return weights @ latent.unsqueeze(1) @ w_v.mT  # a mean of latents first, (batch, head, new, rank)


@expects(p="after vocab", q="n* vocab", drafted="int: n*")
@also.expects(not_a_draft)
def accept_drafts(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """Keep of a draft what its reader would have written, and go on from there.

    Drafted word t, x, is kept if u[t]·q[t, x] < p[t, x], where u is
    torch.rand(n, generator=generator), drawn in any case. At the first that is
    not kept, one torch.multinomial(rest, 1, generator=generator) takes its place
    and ends the list; rest is p[t] - q[t] where that is positive, and 0 elsewhere.
    It may be divided by its sum; a rest of zeros is undefined. If all are kept,
    one torch.multinomial(p[n], 1, generator=generator) is added.

    Args:
        p: the reader's probabilities (n+1, vocab): row t for drafted word t, the
            last row for the word after all of them.
        q: the probabilities that the draft was drawn from (n, vocab).
        drafted: the draft (n,), int64, q[t, drafted[t]] > 0; n may be 0.
        generator: where the randomness comes from.

    Returns:
        a list of 1 … n+1 ids. Each is distributed as p alone would have it.
    """
    u = torch.rand(len(drafted), generator=generator, device=generator.device).tolist()
    kept: list[int] = []
    for t, x in enumerate(drafted.tolist()):
        if not u[t] * float(q[t, x]) < float(p[t, x]):
            rest = (p[t] - q[t]).clamp(min=0)
            return [*kept, int(torch.multinomial(rest, 1, generator=generator))]
        kept.append(x)
    return [*kept, int(torch.multinomial(p[-1], 1, generator=generator))]


@expects(weight="d_out d_in", group="positive")
@also.expects(other_bits)
def quantize_groups(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    """Write a matrix in small integers, with one scale for each group of weights.

    A group is `group` neighbouring columns of one row; the last of a row may be
    shorter, and group may exceed d_in. Its scale is its largest absolute weight
    divided by top = 2^(bits-1) - 1. A weight's code is weight/scale, rounded to
    the nearest integer, a half to the even one, and lies in -top … top. A group
    of zeros has scale 0 and codes 0; one whose scale is too small for the dtype,
    so that it becomes 0, is undefined.

    Args:
        weight: a matrix (d_out, d_in).
        bits: of each code, 2 … 8.
        group: how many weights share a scale.

    Returns:
        codes (d_out, d_in), int8, and scales (d_out, ceil(d_in/group)) in
        weight's dtype; the division is made in float32 or better. Codes times
        their scales are nearly weight.

    To be written without torch's own quantisation.
    """
    top = 2 ** (bits - 1) - 1
    d_in = weight.shape[1]
    precise = weight.to(torch.promote_types(weight.dtype, torch.float32))
    groups = F.pad(precise, (0, -d_in % group)).unflatten(1, (-1, group))  # (d_out, …, group)
    scales = groups.abs().amax(dim=-1) / top
    codes = torch.round(groups / torch.where(scales == 0, 1, scales).unsqueeze(-1))
    return codes.flatten(1)[:, :d_in].to(torch.int8), scales.to(weight.dtype)
