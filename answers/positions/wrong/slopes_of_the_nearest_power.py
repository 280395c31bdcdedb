"""The slopes that the authors' code takes for numbers of heads that are no power of two."""

import math

import torch


def alibi_bias(n_heads, length):
    def slopes(n):
        if math.log2(n).is_integer():
            return [2 ** (-8 * h / n) for h in range(1, n + 1)]
        lower = 2 ** math.floor(math.log2(n))
        return slopes(lower) + slopes(2 * lower)[0::2][: n - lower]

    t = torch.arange(length)
    back = t[:, None] - t
    bias = -torch.tensor(slopes(n_heads))[:, None, None] * back
    return bias.masked_fill(back < 0, -math.inf)
