"""The deviation where the variance was asked for, or the other way round."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    variance = d * (sigma**4 + 2 * mean**2 * sigma**2)
    return math.sqrt(variance)


def softmax_jacobian(p):
    return torch.diag_embed(p.sqrt()) - p.unsqueeze(-1) * p.unsqueeze(-2)


def attention_entropy(weights):
    surprise = torch.where(weights > 0, -torch.log2(weights), torch.zeros_like(weights))
    return (weights * surprise).sum(dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    scores = scores / scores.std(dim=-1, keepdim=True)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
