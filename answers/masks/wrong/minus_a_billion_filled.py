"""Puts -1e9 in the place of what is hidden."""

import torch


def masked_softmax(scores, mask):
    return scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)


def causal_mask(n):
    return torch.tril(torch.ones(n, n, dtype=torch.uint8))
