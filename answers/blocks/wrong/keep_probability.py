"""p is taken for the probability to be kept."""

import torch


def dropout(x, p, generator):
    mask = (torch.rand(x.shape, generator=generator) < p) / p
    return x * mask
