"""Half precision inside."""

import math

import torch
from torch import nn

from qkv.model.cost import cached_attention
from qkv.model.heads import merge_heads, split_heads
from qkv.model.norm import RMSNorm


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    r = f * length / (2 * math.pi)
    keep = (r >= slow).double() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (f * keep + f * (1 - keep) / factor).half().float()


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        codes.append(torch.where(scale > 0, (part / scale).round(), 0).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1)


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
        place = torch.arange(past, past + x.shape[1], device=x.device).to(x.dtype)
        angle = place[:, None] * frequencies.to(x.dtype)
        cos, sin = angle.cos(), angle.sin()

        def turned(t):
            a, b = t[..., ::2], t[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

        q, k = split_heads(self.q_proj(x), self.n_heads), split_heads(self.k_proj(x), self.n_groups)
        v = split_heads(self.v_proj(x), self.n_groups)
        mixed, cache = cached_attention(turned(self.q_norm(q)), turned(self.k_norm(k)), v, cache)
        return self.out_proj(merge_heads(mixed)), cache
