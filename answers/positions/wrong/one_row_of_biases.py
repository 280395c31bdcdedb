"""The paper's shorthand: the same row for every query, which is only right after a softmax."""

import torch


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    row = slopes[:, None, None] * torch.arange(length)
    future = torch.ones(length, length).triu(1).bool()
    return row.expand(-1, length, -1).masked_fill(future, float("-inf"))
