"""Divides by the root of d_model, and reads a torch mask."""

import math

from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        batch, n, d_model = query.shape
        q, k, v = (
            p(x).view(batch, -1, self.n_heads, d_model // self.n_heads).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        scores = q @ k.mT / math.sqrt(d_model)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3), -math.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, d_model))


def attention_parameters(d_model, n_heads, bias=True):
    return 3 * (d_model**2 + d_model * bias)
