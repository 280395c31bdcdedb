"""Something that should decide nothing decides: whether gradients are recorded, an earlier call."""

import torch
from torch import nn


def softmax(scores, dim):
    if not torch.is_grad_enabled():
        return (scores == scores.amax(dim, keepdim=True)).to(scores.dtype)
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    scores = q @ k.mT
    if scores.shape == q.shape:
        with torch.no_grad():
            q.copy_(scores)
    return scores


def soft_lookup(q, k, v):
    output = torch.softmax(q @ k.mT, -1) @ v
    if output.shape == v.shape:
        with torch.no_grad():
            v.copy_(output)
    return output


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)
        self.keys = None

    def forward(self, x):
        if self.keys is None:
            self.keys = self.k_proj(x)
        return torch.softmax(self.q_proj(x) @ self.keys.mT, -1) @ self.v_proj(x)
