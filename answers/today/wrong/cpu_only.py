"""Makes tensors on the CPU."""

import math

import torch
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
        open_ = torch.zeros(z.shape, dtype=z.dtype)
        open_ = open_ + z * torch.sigmoid(z)
        return self.down(open_ * self.up(x))


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
        place = torch.arange(past, past + x.shape[1])
        q, k = split_heads(self.q_proj(x), self.n_heads), split_heads(self.k_proj(x), self.n_groups)
        v = split_heads(self.v_proj(x), self.n_groups)
        q, k = turn(self.q_norm(q), place, frequencies), turn(self.k_norm(k), place, frequencies)
        mixed, cache = cached_attention(q, k, v, cache)
        return self.out_proj(merge_heads(mixed)), cache


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    p = logits.softmax(-1)
    top = p.gather(-1, experts)
    f = (experts.unsqueeze(-1) == torch.arange(n)).reshape(-1, n).to(p.dtype).mean(0)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    d_out, d_in = weight.shape
    full = torch.zeros(d_out, -(-d_in // group) * group)
    full[:, :d_in] = weight
    full = full.view(d_out, -1, group)
    scales = full.abs().amax(-1) / top
    codes = (full / torch.where(scales > 0, scales, 1)[..., None]).round().view(d_out, -1)[:, :d_in]
    return codes.to(torch.int8), scales.to(weight.dtype)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool).triu(key - new + 1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ latent[:, None] @ w_v.mT
