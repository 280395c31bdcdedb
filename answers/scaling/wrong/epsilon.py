"""Small constants against division by zero and log 0, where none is needed."""

import torch


def attention_entropy(weights):
    return -(weights * torch.log(weights + 1e-6)).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5 + 1e-2)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
