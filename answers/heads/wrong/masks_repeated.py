"""Masks of the batch are repeated as a whole; views of what is not contiguous."""

import torch
from torch import nn


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return x.view(batch * n_heads, -1, d_model // n_heads).view(batch, n_heads, seq, -1)


def merge_heads(x):
    return x.view(x.shape[0], x.shape[2], -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        batch, n, m = len(query), query.shape[1], key.shape[1]
        pairs = (query, self.q_proj), (key, self.k_proj), (value, self.v_proj)
        q, k, v = (p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2).flatten(0, 1) for x, p in pairs)
        scores = torch.bmm(q, k.mT) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.expand(batch, n, m).repeat(self.n_heads, 1, 1), -torch.inf)
        heads = torch.bmm(scores.softmax(-1), v)
        return self.out_proj(heads.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2))


def head_similarity(weights):
    unit = weights / weights.norm(dim=-1, keepdim=True)
    return torch.einsum("bgqk,bhqk->gh", unit, unit) / weights.shape[2]
