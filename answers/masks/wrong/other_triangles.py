"""Triangles that lean the wrong way, and numbers where bools belong."""

import torch


def causal_mask(n):
    return torch.triu(torch.ones(n, n))


def padding_mask(lengths, length):
    return (torch.arange(length) < lengths[:, None]).float()[:, None]


def combine_masks(*masks):
    total = 0.0
    for mask in masks:
        if mask is not None:
            total = total + torch.where(mask, 0.0, -torch.inf)
    return total
