"""For p = 1 new zeros without a graph; the normal distribution from torch; keyword-only extras."""

import torch


def dropout(x, p, generator, *, scale=None):
    if p == 1:
        return torch.zeros_like(x)
    if p == 0:
        return x.clone()
    scale = 1 / (1 - p) if scale is None else scale
    dropped = torch.rand(x.shape, generator=generator) < p
    return x.masked_fill(dropped, 0.0) * scale


def gelu(x):
    return x * torch.special.ndtr(x)
