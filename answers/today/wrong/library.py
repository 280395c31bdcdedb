"""torch's own version of the thing."""

import torch
import torch.nn.functional as F
from torch import nn

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
        return self.down(F.silu(self.gate(x)) * self.up(x))


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
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(past)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.out_proj(merge_heads(mixed)), (k, v)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1) / top
        safe = torch.where(scale > 0, scale, 1)
        kept = torch.quantize_per_channel(part, safe, torch.zeros(len(part)).long(), 0, torch.qint8)
        codes.append(kept.int_repr())
        scales.append(scale[:, None])
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    heads = q.shape[1]
    asked = torch.cat([q @ w_k, q_turned], -1)
    kept = torch.cat([latent, k_turned], -1)[:, None].expand(-1, heads, -1, -1)
    seen = torch.ones(q.shape[2], kept.shape[2], dtype=torch.bool, device=q.device).tril(kept.shape[2] - q.shape[2])
    root = (q.shape[-1] + q_turned.shape[-1]) ** -0.5
    mean = F.scaled_dot_product_attention(
        asked, kept, latent[:, None].expand(-1, heads, -1, -1), attn_mask=seen, scale=root
    )
    return mean @ w_v.mT
