"""Tensors are made on the CPU, wherever the inputs are."""

import torch


def softmax_jacobian(p):
    identity = torch.eye(p.shape[-1], dtype=p.dtype)
    return identity * p.unsqueeze(-1) - p.unsqueeze(-1) * p.unsqueeze(-2)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        hidden = torch.full((k.shape[-2],), float("-inf"), dtype=q.dtype)
        scores = torch.where(mask, scores, hidden)
    weights = scores.softmax(-1)
    return weights @ v, weights
