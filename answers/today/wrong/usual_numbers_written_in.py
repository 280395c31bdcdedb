"""The usual numbers are written in."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    keep = ((f * length / (2 * math.pi) - 1) / 3).clamp(0, 1)
    return (f * keep + f * (1 - keep) / factor).float()
