"""Right results, but the caller's tensors are changed."""

import torch
from torch import nn


def split_heads(x, n_heads):
    heads = x.unflatten(-1, (n_heads, -1)).transpose(1, 2).clone()
    x.zero_()
    return heads


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
        if mask is not None:
            mask.logical_not_()
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask.unsqueeze(-3), -torch.inf)
        else:
            scores = q @ k.mT / q.shape[-1] ** 0.5
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def head_similarity(weights):
    weights /= weights.norm(dim=-1, keepdim=True)
    rows = weights.transpose(1, 2)
    return (rows @ rows.mT).mean((0, 1))
