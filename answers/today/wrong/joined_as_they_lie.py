"""Heads are joined without being exchanged with the words first."""

import math

import torch
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.positions import turn


class GroupedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_groups, d_head, qk_norm=False, eps=1e-6):
        super().__init__()
        self.n_heads, self.n_groups, self.d_head, self.d_model = n_heads, n_groups, d_head, d_model
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.q_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()

    def forward(self, x, frequencies, cache=None):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, self.n_heads, self.d_head).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.n_groups, self.d_head).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.n_groups, self.d_head).transpose(1, 2)
        q, k = self.q_norm(q), self.k_norm(k)
        past = 0 if cache is None else cache[0].shape[2]
        at = torch.arange(past, past + n, device=x.device)
        q, k = turn(q, at, frequencies), turn(k, at, frequencies)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        cache = (k, v)
        rep = self.n_heads // self.n_groups
        k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        m = torch.ones(n, past + n, dtype=torch.bool, device=x.device).triu(past + 1)
        s = s.masked_fill(m, float("-inf"))
        o = s.softmax(-1) @ v
        return self.out_proj(o.reshape(b, n, -1)), cache
