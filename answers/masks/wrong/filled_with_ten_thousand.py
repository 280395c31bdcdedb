"""Puts -10000 in the place of what is hidden."""

import torch


def masked_softmax(scores, mask):
    return torch.softmax(torch.where(mask, scores, torch.full_like(scores, -10000.0)), dim=-1)


def causal_mask(n):
    return torch.ones((1, n, n)).tril() == 1
