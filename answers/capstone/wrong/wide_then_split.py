"""Turned over the whole width, then cut into heads; each text has its own mean."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.positions import rotate
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
        positions = torch.arange(x.size(1), device=x.device)
        q, k = rotate(self.q_proj(x), positions), rotate(self.k_proj(x), positions)
        q, k, v = (split_heads(y, self.n_heads) for y in (q, k, self.v_proj(x)))
        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    means = []
    for row, text, n in zip(logits, ids, lengths.tolist(), strict=True):
        if n > 1:
            means.append(F.cross_entropy(row[: n - 1], text[1:n]))
    return torch.stack(means).mean()
