"""Everything comes back as float32."""

import torch
from torch import nn


def softmax(scores, dim):
    powers = (scores.float() - scores.float().amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    return q.float() @ k.float().transpose(-2, -1)


def soft_lookup(q, k, v):
    return torch.softmax(q.float() @ k.float().mT, dim=-1) @ v.float()


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return (torch.softmax(self.q_proj(x) @ self.k_proj(x).mT, dim=-1) @ self.v_proj(x)).float()
