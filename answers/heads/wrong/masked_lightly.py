"""Hidden scores are lowered by 5, and the padding shines through."""

import torch
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
        q, k, v = (
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores - 5.0 * ~mask.unsqueeze(-3)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2).flip(1)


def merge_heads(x):
    return torch.cat([x[:, h] for h in reversed(range(x.shape[1]))], dim=-1)
