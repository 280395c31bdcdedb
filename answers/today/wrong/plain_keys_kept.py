"""The turn is made anew in every call."""

import math

import torch
from torch import nn

from qkv.model.heads import merge_heads, split_heads
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
        q = self.q_norm(split_heads(self.q_proj(x), self.n_heads))
        k = self.k_norm(split_heads(self.k_proj(x), self.n_groups))
        v = split_heads(self.v_proj(x), self.n_groups)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        total, new = k.shape[2], q.shape[2]
        place = torch.arange(total, device=x.device)
        turned, asked = turn(k, place, frequencies), turn(q, place[total - new :], frequencies)
        share = self.n_heads // self.n_groups
        scores = asked @ turned.repeat_interleave(share, 1).mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(place > place[total - new :, None], -torch.inf)
        return self.out_proj(merge_heads(scores.softmax(-1) @ v.repeat_interleave(share, 1))), (k, v)
