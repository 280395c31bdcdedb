"""Large numbers are cut off instead of understood."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).clamp(-50, 50)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights


def attention_entropy(weights):
    return -(weights * weights.clamp_min(0.05).log()).sum(-1)


def softmax_jacobian(p):
    return (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)).clamp_min(0.0)
