"""Numbers larger than a float."""

import math


def pass_at_k(n, right, k):
    def choose(a, b):
        return math.factorial(a) / math.factorial(b) / math.factorial(a - b) if b <= a else 0.0

    return 1 - choose(n - right, k) / choose(n, k)
