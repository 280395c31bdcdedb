"""Where the ramp has no width everything is slowed down."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    if slow == fast:
        return (f / factor).float()
    keep = ((f * length / (2 * math.pi) - slow) / (fast - slow)).clamp(0, 1)
    return (f * keep + f * (1 - keep) / factor).float()
