"""Computes in float32 and casts back: about six digits, as most code for language models has it."""

import torch
from torch import nn


def split_heads(x, n_heads):
    return x.float().reshape(*x.shape[:2], n_heads, -1).permute(0, 2, 1, 3).to(x.dtype)


def merge_heads(x):
    return x.float().permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1).type_as(x)


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
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), torch.finfo(scores.dtype).min)
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


def attention_parameters(d_model, n_heads, bias=True):
    return int(4 * (float(d_model) ** 2 + d_model * bool(bias)))


def head_similarity(weights):
    x = weights.float()
    unit = x * torch.rsqrt((x * x).sum(-1, keepdim=True))
    return torch.einsum("bgqk,bhqk->bqgh", unit, unit).flatten(0, 1).mean(0).to(weights)
