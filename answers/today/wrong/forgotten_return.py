"""Nothing comes back."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.cost import cached_attention
from qkv.model.heads import merge_heads, split_heads
from qkv.model.norm import RMSNorm
from qkv.model.positions import turn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        z = self.gate(x)
        self.down(z * torch.sigmoid(z) * self.up(x))


class GroupedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_groups, d_head, qk_norm=False, eps=1e-6):
        super().__init__()
        self.n_heads, self.n_groups, self.d_head = n_heads, n_groups, d_head
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.q_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()

    def forward(self, x, frequencies, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        place = torch.arange(past, past + x.shape[1], device=x.device)
        q, k = split_heads(self.q_proj(x), self.n_heads), split_heads(self.k_proj(x), self.n_groups)
        v = split_heads(self.v_proj(x), self.n_groups)
        q, k = turn(self.q_norm(q), place, frequencies), turn(self.k_norm(k), place, frequencies)
        mixed, cache = cached_attention(q, k, v, cache)
        self.out_proj(merge_heads(mixed))


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    r = f * length / (2 * math.pi)
    keep = (r >= slow).double() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    f * keep + f * (1 - keep) / factor


def route_tokens(logits, k):
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    logits.gather(-1, experts).softmax(-1)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(1, keepdim=True) / top
    (weight / scale).round().char()


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            break
        out.append(x)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores.softmax(-1) @ latent[:, None] @ w_v.mT


class Llama(nn.Module):
    def __init__(
        self, vocab, d_model, n_heads, n_groups, n_layers, d_ff, d_head=None, qk_norm=False, tied=False, base=10000.0,
        eps=1e-6,
    ):  # fmt: skip
        super().__init__()
        width = d_model // n_heads if d_head is None else d_head
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
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

    def forward(self, ids, caches=None):
        x, after = self.tokens(ids), []
        caches = [None] * len(self.layers) if caches is None else caches
        for layer, cache in zip(self.layers, caches, strict=True):
            seen, cache = layer["attention"](layer["norm1"](x), self.frequencies, cache)
            x = x + seen
            x = x + layer["feed_forward"](layer["norm2"](x))
            after.append(cache)
        x = self.norm(x)
        F.linear(x, self.tokens.weight if self.out is None else self.out.weight)
