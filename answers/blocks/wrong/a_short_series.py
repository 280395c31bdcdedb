"""A series for Φ, cut after a few terms."""

import math


def gelu(x):
    t = x / math.sqrt(2)
    erf = 2 / math.sqrt(math.pi) * (t - t**3 / 3 + t**5 / 10 - t**7 / 42)
    return 0.5 * x * (1 + erf.clamp(-1, 1))
