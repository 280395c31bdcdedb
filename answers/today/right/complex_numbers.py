"""Pairs as complex numbers."""

import torch
from torch import nn

from qkv.model.cost import cached_attention
from qkv.model.norm import RMSNorm


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
        past = 0 if cache is None else cache[0].shape[2]
        q = self.q_norm(self.q_proj(x).view(b, n, -1, self.d_head))
        k = self.k_norm(self.k_proj(x).view(b, n, -1, self.d_head))
        v = self.v_proj(x).view(b, n, -1, self.d_head).transpose(1, 2)
        steps = torch.arange(past, past + n, device=x.device, dtype=torch.float64)
        angle = (steps[:, None] * frequencies.double())[None, :, None]
        spin = torch.complex(angle.cos(), angle.sin())

        def turned(t):
            z = torch.view_as_complex(t.double().reshape(*t.shape[:-1], -1, 2).contiguous())
            return torch.view_as_real(z * spin).flatten(-2).to(t.dtype).transpose(1, 2)

        mixed, cache = cached_attention(turned(q), turned(k), v, cache)
        return self.out_proj(mixed.transpose(1, 2).reshape(b, n, -1)), cache
