"""Python loops over rows, entries and queries."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    total = 0.0
    for _ in range(d):
        total += (sigma**2 + mean**2) ** 2 - (mean * mean) ** 2
    return total


def softmax_jacobian(p):
    n = p.shape[-1]
    rows = []
    for i in range(n):
        rows.append(torch.stack([p[..., i] * ((1.0 if i == j else 0.0) - p[..., j]) for j in range(n)], dim=-1))
    return torch.stack(rows, dim=-2)


def attention_entropy(weights):
    if weights.dim() > 1:
        return torch.stack([attention_entropy(row) for row in weights])
    total = weights.new_zeros(())
    for w in weights:
        if w > 0:
            total = total - w * w.log()
    return total


def scaled_dot_product_attention(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2])
    outputs, all_weights = [], []
    for i in range(q.shape[-2]):
        scores = torch.stack([(q[..., i, :] * k[..., j, :]).sum(-1) for j in range(k.shape[-2])], dim=-1)
        scores = scores / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[..., i, :].logical_not(), -math.inf)
        weights = scores.softmax(-1)
        all_weights.append(weights)
        outputs.append((weights.unsqueeze(-1) * v).sum(-2))
    return torch.stack(outputs, dim=-2), torch.stack(all_weights, dim=-2)
