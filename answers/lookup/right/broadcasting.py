"""No matrix product anywhere: broadcast, multiply, sum."""

import torch
from torch import nn


def softmax(scores, dim):
    lowered = scores - scores.amax(dim=dim, keepdim=True)
    return lowered.exp().div(lowered.exp().sum(dim=dim, keepdim=True))


def similarity_scores(q, k):
    return (q[..., :, None, :] * k[..., None, :, :]).sum(-1)


def soft_lookup(q, k, v):
    weights = torch.softmax(similarity_scores(q, k), -1)  # torch's own is allowed from here on
    return (weights[..., None] * v[..., None, :, :]).sum(-2)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        q, k, v = ((x[..., None, :] * p.weight).sum(-1) for p in (self.q_proj, self.k_proj, self.v_proj))
        return soft_lookup(q, k, v)
