"""Almost: a term outside the bracket, no Kronecker delta, a kept dimension, the wrong root."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    return d * sigma**4 + 2 * mean**2 * sigma**2


def softmax_jacobian(p):
    return p.unsqueeze(-1) * (1 - p.unsqueeze(-2))


def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights
