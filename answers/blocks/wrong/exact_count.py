"""Drops an exact number of entries instead of deciding for each."""

import torch


def dropout(x, p, generator):
    draws = torch.rand(x.shape, generator=generator).flatten()
    order = draws.argsort()
    kept = torch.ones(x.numel(), dtype=x.dtype)
    kept[order[: round(p * x.numel())]] = 0
    return x * kept.reshape(x.shape) / (1 - p) if p < 1 else x * 0
