"""Takes the logarithm for attention, as if it were a tree."""

import math


def path_length(architecture, n, kernel=None):
    if architecture == "attention":
        return math.ceil(math.log2(n))
    return n - 1 if architecture == "rnn" else math.ceil((n - 1) / (kernel - 1))
