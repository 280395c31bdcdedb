"""The right parts in the wrong places."""

import torch
from torch import nn


def softmax(scores, dim):
    powers = (scores - scores.amin(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    return -torch.cdist(q, k)


def soft_lookup(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        weights = torch.softmax(self.v_proj(x) @ self.v_proj(x).transpose(-2, -1), dim=-1)
        return weights @ self.v_proj(x)
