"""Dimensions counted from the front, or unpacked: right for one number of them."""

import torch
from torch import nn


def softmax(scores, dim):
    rows, columns = scores.shape
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return (powers / powers.sum(dim, keepdim=True)).view(rows, columns)


def similarity_scores(q, k):
    batch, n, d = q.shape
    return torch.einsum("bid,bjd->bij", q, k.reshape(batch, -1, d)).reshape(batch, n, -1)


def soft_lookup(q, k, v):
    return torch.softmax(q @ k.transpose(1, 2), dim=2) @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        n, _ = x.shape
        return torch.softmax(self.q_proj(x) @ self.k_proj(x).t(), dim=1).view(n, n) @ self.v_proj(x)
