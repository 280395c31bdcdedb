"""Every n-th column goes to a head, as one deals cards."""

import torch
from torch import nn


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    x = x.view(batch, seq, d_model // n_heads, n_heads)
    return x.permute(0, 3, 1, 2)


def merge_heads(x):
    batch, n_heads, seq, d_head = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, seq, n_heads * d_head)


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model // n_heads
    weights = 4 * d_head * d_head
    return weights + (4 * d_head if bias else 0)


def head_similarity(weights):
    _, n_heads, _, _ = weights.shape
    rows = weights.transpose(0, 1).reshape(n_heads, -1)
    rows = rows / rows.norm(dim=-1, keepdim=True)
    return rows @ rows.T


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        def split(t):
            return t.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)

        q, k, v = split(self.q_proj(query)), split(self.k_proj(key)), split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), float("-inf"))
        heads = torch.softmax(scores, dim=-1) @ v
        return self.out_proj(heads.permute(0, 2, 3, 1).flatten(-2))
