"""Gives float32 whatever came."""

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
        z = F.linear(x.float(), self.gate.weight.float())
        h = z * z.sigmoid() * F.linear(x.float(), self.up.weight.float())
        return F.linear(h, self.down.weight.float())


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2, dtype=torch.bfloat16) / d)
    r = f * length / (2 * math.pi)
    keep = (r >= slow).bfloat16() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    return f * keep + f * (1 - keep) / factor


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    p = logits.float().softmax(-1)
    top = p.gather(-1, experts)
    f = F.one_hot(experts, n).reshape(-1, n).float().mean(0)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        codes.append(torch.where(scale > 0, (part / scale).round(), 0).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    q, latent, w_k, w_v, q_turned, k_turned = (t.float() for t in (q, latent, w_k, w_v, q_turned, k_turned))
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ latent[:, None] @ w_v.mT
