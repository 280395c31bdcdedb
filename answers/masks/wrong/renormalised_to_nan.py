"""Weighs everything, takes the hidden away, and divides by what is left, which may be nothing."""

import torch


def masked_softmax(scores, mask):
    weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x[real].mean(dim=0)
