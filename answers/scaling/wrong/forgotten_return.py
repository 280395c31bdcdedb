"""Computes, and hands nothing back."""

import torch


def score_variance(d, sigma, mean=0.0):
    variance = d * (sigma**4 + 2 * mean**2 * sigma**2)  # noqa: F841


def attention_entropy(weights):
    torch.special.entr(weights).sum(-1)


def softmax_jacobian(p):
    torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def scaled_dot_product_attention(q, k, v, mask=None):
    print((q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v)
