"""One head after another, one pair of heads after another."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def split_heads(x, n_heads):
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        width = self.q_proj.out_features // self.n_heads
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        found = []
        for h in range(self.n_heads):
            block = slice(h * width, (h + 1) * width)
            scores = q[..., block] @ k[..., block].transpose(1, 2) / math.sqrt(width)
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))  # (batch, query, key): no head in sight
            found.append(torch.softmax(scores, dim=2) @ v[..., block])
        return self.out_proj(torch.cat(found, dim=2))


def attention_parameters(d_model, n_heads, bias=True):
    total = 0
    for _projection in ("q", "k", "v", "out"):
        for _row in range(d_model):
            total += d_model
            if bias:
                total += 1
    return total


def head_similarity(weights):
    heads = weights.unbind(dim=1)
    return torch.stack(
        [torch.stack([F.cosine_similarity(g, h, dim=-1).mean() for h in heads]) for g in heads],
    )
