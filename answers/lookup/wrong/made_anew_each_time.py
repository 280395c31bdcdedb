"""What belongs into __init__ is made in forward, or made of something else."""

import torch
from torch import nn


class Softmax:
    peak = None

    def __call__(self, scores, dim):
        if self.peak is None:
            self.peak = scores.max()
        e = torch.exp(scores - self.peak)
        return e / e.sum(dim, keepdim=True)


_softmax = Softmax()


def softmax(scores, dim):
    return _softmax(scores, dim)


def similarity_scores(q, k):
    compare = nn.Linear(k.shape[-1], k.shape[-2], bias=False)
    compare.weight = nn.Parameter(k)
    return compare(q)


def soft_lookup(q, k, v):
    attention = nn.Softmax(dim=0)
    return torch.matmul(attention(torch.matmul(q, k.transpose(-1, -2))), v)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_k, self.d_v = d_k, d_v
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        q_proj = nn.Linear(x.shape[-1], self.d_k, bias=False)
        k_proj = nn.Linear(x.shape[-1], self.d_k, bias=False)
        v_proj = nn.Linear(x.shape[-1], self.d_v, bias=False)
        weights = torch.softmax(q_proj(x) @ k_proj(x).transpose(-2, -1), dim=-1)
        return weights @ v_proj(x)
