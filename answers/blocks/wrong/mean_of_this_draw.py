"""Divides by the share that survived this time."""

import torch


def dropout(x, p, generator):
    kept = (torch.rand(x.shape, generator=generator) >= p).to(x.dtype)
    return x * kept / kept.mean().clamp(min=1e-6)
