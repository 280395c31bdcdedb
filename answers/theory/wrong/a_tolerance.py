"""Counts as equal what differs by less than a millionth."""

import torch


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores.amax(-1, keepdim=True) - scores < 1e-6).to(v.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v, weights
