"""What one remembers of the variance of a product, and of other rules."""

import torch


def score_variance(d, sigma, mean=0.0):
    var = sigma**2
    return d * var * var + d * 2 * mean * var


def softmax_jacobian(p):
    i = torch.arange(p.shape[-1], device=p.device)
    same = i[:, None] == i[None, :]
    left = p[..., :, None]
    right = p[..., None, :]
    return torch.where(same, left * (1 - left), left * right)


def attention_entropy(weights):
    return 1 - (weights**2).sum(dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-2] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights
