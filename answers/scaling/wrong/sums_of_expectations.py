"""E[x]² forgotten, E[x²] taken for it, and other halves of a formula."""

import torch


def score_variance(d, sigma, mean=0.0):
    e_qk_squared = (sigma**2 + mean**2) ** 2
    e_qk = mean * mean
    return d * e_qk_squared - (d * e_qk) ** 2


def softmax_jacobian(p):
    outer = p[..., :, None] * p[..., None, :]
    return -outer


def attention_entropy(weights):
    n = weights.shape[-1]
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return -(weights * safe.log()).sum(-1) / torch.log(torch.tensor(float(n)))


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights
