"""Neighbours turned, but with the frequencies of the other layout (each frequency twice in a row of halves)."""

import torch


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    w = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    t = positions[:, None] * torch.cat([w, w])
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return (x * t.cos() + partner * t.sin()).to(x.dtype)
