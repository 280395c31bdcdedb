"""Heads become part of the batch, and masks large negative numbers."""

import torch
from torch import nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1)).movedim(0, 1)


def merge_heads(x):
    b, h, s, d = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(b, s, h * d)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def fold(self, x):
        b, s, _ = x.shape
        return x.view(b, s, self.n_heads, -1).transpose(1, 2).reshape(b * self.n_heads, s, -1)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.fold(self.q_proj(query)), self.fold(self.k_proj(key)), self.fold(self.v_proj(value))
        scores = torch.bmm(q, k.mT) / q.shape[-1] ** 0.5
        if mask is not None:
            full = mask.broadcast_to(query.shape[0], query.shape[1], key.shape[1])
            hidden = full.logical_not().repeat_interleave(self.n_heads, dim=0)
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        heads = torch.bmm(torch.softmax(scores, -1), v)
        return self.out_proj(merge_heads(heads.unflatten(0, (-1, self.n_heads))))


def attention_parameters(d_model, n_heads, bias=True):
    one = nn.Linear(d_model, d_model, bias=bias)
    return 4 * sum(parameter.numel() for parameter in one.parameters())


def head_similarity(weights):
    b, h, q, k = weights.shape
    rows = weights.permute(0, 2, 1, 3).reshape(b * q, h, k)
    rows = rows / rows.square().sum(-1, keepdim=True).sqrt()
    return torch.bmm(rows, rows.mT).mean(0)
