"""Floats too early."""

import math


def pass_at_k(n, right, k):
    every = math.comb(n, k) * 1.0
    wrong = math.comb(n - right, k) * 1.0
    return (every - wrong) / every
