"""Results are remembered, which is nobody's business."""

import functools
import math

import torch


@functools.cache
def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    found = []
    for i in range(d // 2):
        f = base ** (-2 * i / d)
        turns = length * f / (2 * math.pi)
        if slow == fast:
            keep = float(turns >= slow)
        else:
            keep = min(max((turns - slow) / (fast - slow), 0.0), 1.0)
        found.append(f * (keep + (1 - keep) / factor))
    return torch.tensor(found)
