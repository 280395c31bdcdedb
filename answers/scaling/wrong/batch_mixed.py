"""Rows of a batch are added up, or a batch is taken for something else."""

import torch


def softmax_jacobian(p):
    flat = p.reshape(-1, p.shape[-1])
    mean = flat.mean(0)
    return (torch.diag(mean) - torch.outer(mean, mean)).expand(*p.shape, p.shape[-1]).clone()


def attention_entropy(weights):
    mean = weights.reshape(-1, weights.shape[-1]).mean(0)
    return torch.special.entr(mean).sum().expand(weights.shape[:-1]).clone()


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[0] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
