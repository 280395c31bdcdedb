"""Scores divided by the square root of the width, one term or both."""

import math

import torch


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)
    rows = (i - j).clamp(-m, m) + m
    content = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return content + torch.einsum("...id,ijd->...ij", q, table[rows])


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads) / math.sqrt(n_heads)
    t = torch.arange(length)
    back = t[:, None] - t
    return (-slopes[:, None, None] * back).masked_fill(back < 0, -math.inf)
