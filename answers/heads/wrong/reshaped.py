"""Reshapes where it should turn, both ways."""

import math

import torch
from torch import nn


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return x.reshape(batch, n_heads, seq, d_model // n_heads)


def merge_heads(x):
    batch, head, seq, d_head = x.shape
    return x.reshape(batch, seq, head * d_head)


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
        q = self.q_proj(query).reshape(batch, self.n_heads, n, -1)
        k = self.k_proj(key).reshape(batch, self.n_heads, key.shape[1], -1)
        v = self.v_proj(value).reshape(batch, self.n_heads, key.shape[1], -1)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        return self.out_proj((scores.softmax(-1) @ v).reshape(batch, n, d_model))


def attention_parameters(d_model, n_heads, bias=True):
    return n_heads * 4 * (d_model**2 + d_model * bias)


def head_similarity(weights):
    unit = weights / weights.norm(dim=-1, keepdim=True)
    return torch.einsum("bgqk,bhqk->gh", unit, unit)
