"""Rounds to four digits."""

import math


def pass_at_k(n, right, k):
    return round(1 - math.comb(n - right, k) / math.comb(n, k), 4)
