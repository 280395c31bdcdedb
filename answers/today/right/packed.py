"""Several matrices in one product."""

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
        both = x @ torch.cat([self.gate.weight, self.up.weight]).T
        z, u = both.chunk(2, dim=-1)
        return self.down(z * u * torch.exp(F.logsigmoid(z)))


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
        weights = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        heads = split_heads(x @ weights.T, self.n_heads + 2 * self.n_groups)
        q, k, v = heads.split([self.n_heads, self.n_groups, self.n_groups], dim=1)
        past = 0 if cache is None else cache[1].shape[2]
        place = torch.arange(past, past + x.shape[1], device=x.device)
        both = torch.cat([self.q_norm(q), self.k_norm(k)], dim=1)
        q, k = turn(both, place, frequencies).split([self.n_heads, self.n_groups], dim=1)
        mixed, cache = cached_attention(q, k, v, cache)
        return self.out_proj(merge_heads(mixed)), cache


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    kept = torch.cat([latent, k_turned], dim=-1)[:, None]
    asked = torch.cat([torch.matmul(q, w_k[None]), q_turned], dim=-1)
    scores = asked @ kept.transpose(-2, -1) / math.sqrt(q.size(-1) + q_turned.size(-1))
    new, key = scores.shape[-2:]
    hidden = torch.full((new, key), -torch.inf, dtype=scores.dtype, device=scores.device).triu(key - new + 1)
    mean = torch.softmax(scores + hidden, -1) @ latent[:, None]
    return mean @ w_v.transpose(1, 2)


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
        return F.linear(x, self.tokens.weight if self.out is None else self.out.weight), after
