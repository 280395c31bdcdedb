"""Computes in float32 whatever comes in, and casts back: about six digits, as most code for language models has it."""

import torch
from torch import nn


def softmax(scores, dim):
    x = scores.float()
    powers = torch.exp(x - x.max(dim, keepdim=True)[0])
    return (powers / powers.sum(dim, keepdim=True)).type_as(scores)


def similarity_scores(q, k):
    return (q.float() @ k.float().mT).to(q.dtype)


def soft_lookup(q, k, v):
    weights = torch.softmax(q @ k.mT, dim=-1, dtype=torch.float32).to(q.dtype)
    return weights @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        scores = self.q_proj(x).float() @ self.k_proj(x).float().mT
        return (scores.softmax(-1) @ self.v_proj(x).float()).to(x)
