"""Squares and fourth powers exchanged, or one power too many."""

import torch


def score_variance(d, sigma, mean=0.0):
    second_moment = sigma**2 + mean**2
    return d * second_moment**2


def softmax_jacobian(p):
    identity = torch.eye(p.size(-1)).to(p)
    square = p.unsqueeze(-1).pow(2) * identity
    return square - torch.matmul(p.unsqueeze(-1), p.unsqueeze(-2))


def attention_entropy(weights):
    safe = weights.clamp(min=torch.finfo(weights.dtype).tiny)
    return -(weights**2 * safe.log()).sum(dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = k.shape[-1] ** -0.25
    scores = (q * scale) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
