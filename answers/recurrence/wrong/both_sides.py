"""A kernel that looks to both sides, half of it each."""

import math


def receptive_field(kernel_sizes, dilations):
    return 1 + 2 * sum(k // 2 * d for k, d in zip(kernel_sizes, dilations, strict=True))


def path_length(architecture, n, kernel=None):
    if architecture == "cnn":
        return math.ceil((n - 1) / max(kernel // 2, 1))
    return n - 1 if architecture == "rnn" else 1
