"""Once round is 360."""

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    r = f * length / 360
    keep = (r >= slow).double() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (f * keep + f * (1 - keep) / factor).float()
