"""Loops, one of whose indices slipped."""

import torch


def score_variance(d, sigma, mean=0.0):
    total = 0.0
    for _ in range(1, d):
        total += sigma**4 + 2 * mean**2 * sigma**2
    return total


def softmax_jacobian(p):
    n = p.shape[-1]
    out = torch.zeros(*p.shape, n, dtype=p.dtype, device=p.device)
    for i in range(n):
        for j in range(i + 1):
            if i == j:
                out[..., i, j] = p[..., i] * (1 - p[..., i])
            else:
                out[..., i, j] = -p[..., i] * p[..., j]
    return out


def attention_entropy(weights):
    total = torch.zeros(weights.shape[:-1], dtype=weights.dtype, device=weights.device)
    for i in range(weights.shape[-1] - 1):
        w = weights[..., i]
        total = total - torch.where(w > 0, w * torch.log(torch.where(w > 0, w, 1.0)), 0.0)
    return total


def scaled_dot_product_attention(q, k, v, mask=None):
    outputs, rows = [], []
    for i in range(q.shape[-2]):
        scores = (k @ q[..., i, :, None]).squeeze(-1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[..., 0, :], float("-inf"))
        weights = torch.softmax(scores, -1)
        rows.append(weights)
        outputs.append((weights.unsqueeze(-1) * v).sum(-2))
    return torch.stack(outputs, -2), torch.stack(rows, -2)
