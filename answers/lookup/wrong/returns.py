"""Right inside, wrong on the way out: nothing, a pair, a list."""

import torch
from torch import nn


def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    return (q @ k.transpose(-2, -1)).tolist()


def soft_lookup(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights @ v, weights


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return (torch.softmax(self.q_proj(x) @ self.k_proj(x).mT, dim=-1) @ self.v_proj(x)).mean(dim=-2)
