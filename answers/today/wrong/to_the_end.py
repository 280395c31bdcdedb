"""The last pair is given the full range."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** -torch.linspace(0, 1, d // 2, dtype=torch.float64)
    r = f * length / (2 * math.pi)
    keep = (r >= slow).double() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (f * keep + f * (1 - keep) / factor).float()
