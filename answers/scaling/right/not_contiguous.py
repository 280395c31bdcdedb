"""Results are views with odd strides: everything is computed turned round."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = k @ q.transpose(-2, -1) / q.shape[-1] ** 0.5  # (..., key, query)
    if mask is not None:
        mask = torch.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])).transpose(-2, -1)
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-2)
    return (v.transpose(-2, -1) @ weights).transpose(-2, -1), weights.transpose(-2, -1)


def softmax_jacobian(p):
    moved = p.movedim(-1, 0)
    n = p.shape[-1]
    result = torch.stack([torch.stack([moved[i] * (float(i == j) - moved[j]) for i in range(n)]) for j in range(n)])
    return result.movedim((0, 1), (-1, -2))


def attention_entropy(weights):
    flat = weights.reshape(-1, weights.shape[-1]).T
    return -torch.nansum(flat * flat.log(), dim=0).reshape(weights.shape[:-1])
