"""Slopes of 1/2, 1/4, … for any number of heads."""

import torch


def alibi_bias(n_heads, length):
    slopes = 0.5 ** torch.arange(1, n_heads + 1)
    t = torch.arange(length)
    back = t[:, None] - t
    return (-slopes[:, None, None] * back).masked_fill(back < 0, float("-inf"))
