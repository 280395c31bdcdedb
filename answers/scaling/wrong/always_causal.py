"""Hides the future, asked or not."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    mask = causal if mask is None else mask & causal
    scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights
