"""Clocks of the whole width in every head; nothing is divided."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.scaling import scaled_dot_product_attention


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        d_model, d_head = x.shape[-1], q.shape[-1]
        speed = 10000.0 ** (-torch.arange(0, d_head, 2, device=x.device) / d_model)
        angle = torch.arange(x.shape[1], device=x.device)[:, None] * speed
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)

        def turn(y):
            a, b = y[..., ::2], y[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(turn(q), turn(k), v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    return F.cross_entropy(logits[real], ids[:, 1:][real], reduction="sum")
