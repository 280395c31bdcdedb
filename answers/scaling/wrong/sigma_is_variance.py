"""A symbol taken for another one: sigma for sigma squared, p for the scores, weights for scores."""

import torch


def score_variance(d, sigma, mean=0.0):
    variance = sigma
    return d * (variance * variance + 2 * variance * mean**2)


def softmax_jacobian(p):
    s = torch.softmax(p, dim=-1)
    return torch.diag_embed(s) - s.unsqueeze(-1) * s.unsqueeze(-2)


def attention_entropy(weights):
    p = torch.softmax(weights, dim=-1)
    return -(p * p.log()).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = v.size(-1)
    scores = torch.einsum("...qd,...kd->...qk", q, k) / d_k**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights
