"""For p = 1 returns everything."""

import torch


def dropout(x, p, generator):
    if p == 1:
        return x
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p)
