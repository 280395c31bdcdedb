"""Partials, classes that are called; a mask of numbers; counting by hand."""

import functools
import operator

import torch
from torch import nn


class split_heads:
    def __new__(cls, x, n_heads):
        return torch.stack(torch.tensor_split(x, n_heads, dim=2), dim=1)


class Merge:
    def __call__(self, x):
        return functools.reduce(lambda left, right: torch.cat([left, right], -1), x.unbind(1))


merge_heads = Merge()


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        three = zip((query, key, value), (self.q_proj, self.k_proj, self.v_proj), strict=True)
        q, k, v = (proj(x).view(*x.shape[:2], self.n_heads, -1) for x, proj in three)  # (batch, seq, head, d_head)
        scores = torch.einsum("bihd,bjhd->bijh", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -torch.inf).unsqueeze(-1)
        found = torch.einsum("bijh,bjhd->bihd", scores.softmax(dim=2), v)
        return self.out_proj(found.flatten(2))


def count(shapes, d_model, n_heads, bias=True):
    return shapes * (operator.mul(d_model, d_model) + (bias and d_model))


attention_parameters = functools.partial(count, 4)


cosine = functools.partial(torch.cosine_similarity, dim=-1)


def head_similarity(weights):
    heads = range(weights.shape[1])
    return torch.stack([cosine(weights[:, h : h + 1], weights).mean((0, 2)) for h in heads])
