"""Whole numbers where broken ones were meant, and rounding on the way."""

import torch


def score_variance(d, sigma, mean=0.0):
    return int(d * sigma**4 + 2 * d * mean**2 * sigma**2)


def softmax_jacobian(p):
    return torch.round(torch.diag_embed(p) - p[..., :, None] * p[..., None, :], decimals=3)


def attention_entropy(weights):
    rows = -torch.xlogy(weights, weights).sum(-1)
    return torch.tensor([round(float(r), 4) for r in rows.flatten()]).reshape(rows.shape)


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = int(q.size(-1) ** 0.5)
    scores = torch.matmul(q, k.transpose(-2, -1)) / scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    attention = torch.nn.functional.softmax(scores, dim=-1)
    return torch.matmul(attention, v), attention
