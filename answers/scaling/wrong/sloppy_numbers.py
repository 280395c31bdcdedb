"""Constants that are large enough to see."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    return float(round(d * (sigma**4 + 2 * mean**2 * sigma**2)))


def attention_entropy(weights):
    return -(weights * (weights + 1e-3).log()).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -10.0))
    weights = scores.softmax(-1)
    return weights @ v, weights


def softmax_jacobian(p):
    p = p / (p.sum(-1, keepdim=True) + 0.01)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
