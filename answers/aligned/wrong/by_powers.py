"""Powers in place of a falling product."""

import math


def pass_at_k(n, right, k):
    return 1 - math.exp(-k * right / n)
