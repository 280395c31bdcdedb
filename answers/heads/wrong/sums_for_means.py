"""Summed and never divided, or divided by the wrong count."""

import torch
from torch import nn


def split_heads(x, n_heads):
    b, n, d = x.shape
    d_head = d // n_heads
    weight = nn.Linear(d, d, bias=False, dtype=x.dtype)(x)
    return weight.view(b, n, n_heads, d_head).transpose(1, 2)


def merge_heads(x):
    return x.sum(dim=1)


def attention_parameters(d_model, n_heads, bias=True):
    attention = nn.MultiheadAttention(d_model, n_heads)
    return sum(p.numel() for p in attention.parameters())


def head_similarity(weights):
    unit = nn.functional.normalize(weights, p=2, dim=-1)
    cosines = unit.permute(0, 2, 1, 3) @ unit.permute(0, 2, 3, 1)
    return cosines.sum(dim=(0, 1)) / weights.shape[0]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        outputs = []
        for h in range(self.n_heads):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            q = self.q_proj(query)[..., part]
            k = self.k_proj(key)[..., part]
            v = self.v_proj(value)[..., part]
            scores = q @ k.transpose(1, 2) / self.d_head**0.5
            if mask is not None and h == 0:
                scores = scores.masked_fill(~mask, float("-inf"))
            outputs.append(scores.softmax(-1) @ v)
        return self.out_proj(torch.cat(outputs, dim=-1))
