"""einsum with a letter in the wrong place."""

import torch
from torch import einsum, nn


def softmax(scores, dim):
    shifted = scores - scores.max(dim, keepdim=True).values
    powers = shifted.exp()
    total = einsum("...n->...", powers).unsqueeze(-1)
    return powers / total


def similarity_scores(q, k):
    return einsum("...id,...jd->...ji", q, k)


def soft_lookup(q, k, v):
    scores = einsum("...qd,...kd->...qk", q, k)
    weights = scores.softmax(dim=-1)
    return einsum("...qk,...kd->...kd", weights, v)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        energy = einsum("...ld,...td->...tl", [q, k])
        attention = torch.softmax(energy, dim=-1)
        return einsum("...tl,...ld->...td", [attention, v])
