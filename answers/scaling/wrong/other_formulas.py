"""Something related that is not it."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    return d * (sigma**4 + mean**4)


def softmax_jacobian(p):
    return torch.linalg.inv(torch.diag_embed(p + 0.1) - p.unsqueeze(-1) * p.unsqueeze(-2))


def attention_entropy(weights):
    return math.log(weights.shape[-1]) - torch.xlogy(weights, weights).sum(-1).neg()


def scaled_dot_product_attention(q, k, v, mask=None):
    distance = torch.cdist(q, k) ** 2
    scores = -distance / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights
