"""The right number in the wrong wrapping."""

import torch


def score_variance(d, sigma, mean=0.0):
    return torch.full((d,), sigma**4 + 2 * (mean * sigma) ** 2)


def softmax_jacobian(p):
    n = p.shape[-1]
    jacobian = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(p[..., i] * ((1.0 if i == j else 0.0) - p[..., j]))
        jacobian.append(row)
    return jacobian


def attention_entropy(weights):
    terms = torch.special.entr(weights)
    return terms.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights, weights @ v
