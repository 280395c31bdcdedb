"""Right numbers, but the caller's tensors are changed."""

import torch
from torch import nn


def softmax(scores, dim):
    with torch.no_grad():
        scores -= scores.amax(dim, keepdim=True)
    powers = scores.exp()
    return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    result = q @ k.transpose(-2, -1)
    with torch.no_grad():
        k.mul_(0)
    return result


def soft_lookup(q, k, v):
    result = torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
    with torch.no_grad():
        q.zero_()
    return result


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        result = torch.softmax(self.q_proj(x) @ self.k_proj(x).mT, dim=-1) @ self.v_proj(x)
        with torch.no_grad():
            x += 1
        return result
