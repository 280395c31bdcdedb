"""Counts along the wrong dimension."""

import torch
from torch import nn

from qkv.model.cost import cached_attention
from qkv.model.heads import merge_heads
from qkv.model.norm import RMSNorm
from qkv.model.positions import turn


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
        b, n, _ = x.shape
        q, k, v = (p(x).view(b, n, -1, self.d_head) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self.q_norm(q), self.k_norm(k)
        q = turn(q, torch.arange(q.shape[2], device=x.device), frequencies)
        k = turn(k, torch.arange(k.shape[2], device=x.device), frequencies)
        mixed, cache = cached_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), cache)
        return self.out_proj(merge_heads(mixed)), cache
