"""Almost: a small constant, another base, an absolute value, one position too many."""

import torch
from torch import nn


def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / (powers.sum(dim, keepdim=True) + 1e-3)


def similarity_scores(q, k):
    return (q @ k.transpose(-2, -1)).abs()


def soft_lookup(q, k, v):
    scores = q @ k.transpose(-2, -1)
    powers = torch.pow(2.0, scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True) @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        scores = self.q_proj(x) @ self.k_proj(x).transpose(-2, -1)
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ self.v_proj(x)
