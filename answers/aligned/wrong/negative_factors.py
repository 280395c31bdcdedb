"""Goes on where no wrong answer is left."""

import math


def pass_at_k(n, right, k):
    none = math.prod(n - right - i for i in range(k) if n - right != i) / math.prod(n - i for i in range(k))
    return 1 - abs(none)
