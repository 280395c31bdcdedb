"""Exactly one right answer."""

import math


def pass_at_k(n, right, k):
    return math.comb(right, 1) * math.comb(n - right, k - 1) / math.comb(n, k)
