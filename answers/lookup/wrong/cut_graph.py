"""Right numbers without a gradient."""

import torch
from torch import nn


def softmax(scores, dim):
    with torch.no_grad():
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    return q @ k.detach().transpose(-2, -1)


def soft_lookup(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights.data @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        weights = torch.softmax(self.q_proj(x) @ self.k_proj(x).transpose(-2, -1), dim=-1)
        return weights @ (x @ self.v_proj.weight.detach().T)
