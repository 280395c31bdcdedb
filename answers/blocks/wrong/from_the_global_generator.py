"""Ignores the generator, and draws from torch's own."""

import torch


def dropout(x, p, generator):
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p) if p < 1 else x * 0
