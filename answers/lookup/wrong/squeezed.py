"""Dimensions of size 1 are lost on the way out."""

import torch
from torch import nn


def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return (powers / powers.sum(dim, keepdim=True)).squeeze()


def similarity_scores(q, k):
    return (q.unsqueeze(-2) @ k.unsqueeze(-3).transpose(-2, -1)).squeeze()


def soft_lookup(q, k, v):
    weights = torch.softmax(q @ k.mT, -1)
    return weights.squeeze(-2) @ v if q.shape[-2] == 1 else weights @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return (torch.softmax(self.q_proj(x) @ self.k_proj(x).mT, -1) @ self.v_proj(x)).squeeze(-1)
