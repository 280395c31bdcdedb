"""A list of numbers is no tensor."""

import math


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    found = []
    for i in range(d // 2):
        f = base ** (-2 * i / d)
        r = length * f / (2 * math.pi)
        keep = float(r >= slow) if slow == fast else min(max((r - slow) / (fast - slow), 0), 1)
        found.append(f * keep + f * (1 - keep) / factor)
    return found
