"""Powers of large numbers."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        z = self.gate(x)
        e = torch.exp(z)
        return self.down(z * (e / (e + 1)) * self.up(x))


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    powers = torch.exp(logits)
    p = powers / powers.sum(-1, keepdim=True)
    top = powers.gather(-1, experts)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    powers = scores.exp().tril(key - new)
    return powers / powers.sum(-1, keepdim=True) @ latent[:, None] @ w_v.mT
