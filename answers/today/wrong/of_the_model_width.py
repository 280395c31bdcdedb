"""Takes a head for d_model / n_heads wide."""

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
        b, n, d_model = x.shape
        d = d_model // self.n_heads
        past = 0 if cache is None else cache[0].shape[2]
        place = torch.arange(past, past + n, device=x.device)
        q, k, v = (p(x).view(b, n, -1, d).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = turn(self.q_norm(q), place, frequencies), turn(self.k_norm(k), place, frequencies)
        mixed, cache = cached_attention(q, k, v, cache)
        return self.out_proj(merge_heads(mixed)), cache
