"""Makes its own tensors on the CPU, in float32."""

import torch
from torch import nn


def softmax(scores, dim):
    result = torch.zeros(scores.shape)
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return result + powers / powers.sum(dim, keepdim=True)


def soft_lookup(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights @ v + torch.zeros(v.shape[-1])


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        weights = torch.softmax(self.q_proj(x) @ self.k_proj(x).mT, dim=-1)
        return weights @ self.v_proj(x) + torch.zeros(self.v_proj.out_features)
