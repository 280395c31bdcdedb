"""Works for exactly one batch dimension."""

import torch
from torch import nn


def similarity_scores(q, k):
    return torch.bmm(q, k.transpose(1, 2))


def soft_lookup(q, k, v):
    return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=2), v)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        batch, seq, _ = x.shape
        weights = torch.softmax(torch.bmm(self.q_proj(x), self.k_proj(x).transpose(1, 2)), dim=2)
        return torch.bmm(weights, self.v_proj(x)).view(batch, seq, -1)
