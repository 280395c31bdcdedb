"""Writes into what it was given."""

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
        y = self.down(z * torch.sigmoid(z) * self.up(x))
        with torch.no_grad():
            x.copy_(y)
        return y


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
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            mixed, _ = cached_attention(q, k[:, :, past:], v[:, :, past:], (k[:, :, :past], v[:, :, :past]))
            cache[1].data.zero_()
        else:
            mixed, _ = cached_attention(q, k, v)
        return self.out_proj(merge_heads(mixed)), (k, v)


def route_tokens(logits, k):
    n = logits.shape[-1]
    p = logits.softmax(-1)
    best = []
    for _ in range(k):
        best.append(logits.argmax(-1, keepdim=True))
        logits.data.scatter_(-1, best[-1], -torch.inf)
    experts = torch.cat(best, -1)
    top = p.gather(-1, experts)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    scales = []
    for part in weight.split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        part.div_(torch.where(scale > 0, scale, 1)).round_()
        scales.append(scale)
    return weight.to(torch.int8), torch.cat(scales, 1)


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    p[:-1].sub_(0)
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            p[t] = (p[t] - q[t]).relu()
            return [*out, int(torch.multinomial(p[t], 1, generator=generator))]
        out.append(x)
    p.div_(2)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    output = scores.masked_fill(later, -torch.inf).softmax(-1) @ latent[:, None] @ w_v.mT
    with torch.no_grad():
        q.mul_(0.5)
    return output
