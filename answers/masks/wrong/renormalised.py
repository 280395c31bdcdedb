"""Weighs everything, takes the hidden away, and divides by what is left."""

import torch


def masked_softmax(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-12)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device)[None, :, None] < lengths[:, None, None]
    return (x * real).sum(1) / real.sum()


def padding_mask(lengths, length):
    return (torch.arange(length, device=lengths.device) < lengths[:, None])[:, None, None]
