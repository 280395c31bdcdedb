"""The ramp runs over pairs."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    def pair(turns):
        return d * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base)) if 0 < turns < math.inf else 0

    f = base ** (-torch.arange(0, d, 2).double() / d)
    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), d - 1)
    place = (torch.arange(d // 2) - low) / max(high - low, 0.001)
    keep = 1 - place.clamp(0, 1)
    return (f * keep + f * (1 - keep) / factor).float()
