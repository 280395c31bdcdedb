"""Makes its own tensors on the CPU."""

import torch
from torch import nn


def merge_heads(x):
    batch, head, seq, d_head = x.shape
    return torch.zeros(batch, seq, head * d_head, dtype=x.dtype) + x.transpose(1, 2).flatten(2)


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
        bias = torch.zeros(query.shape[1], key.shape[1], dtype=query.dtype)
        bias = bias if mask is None else bias.masked_fill(~mask, -torch.inf).unsqueeze(-3)
        weights = (q @ k.mT / q.shape[-1] ** 0.5 + bias).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


def head_similarity(weights):
    unit = torch.nn.functional.normalize(weights, dim=-1).transpose(1, 2)
    return torch.zeros(weights.shape[1], weights.shape[1], dtype=weights.dtype) + (unit @ unit.mT).mean((0, 1))
