"""Distances as j - i, the way the first paper counts them."""

import torch


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)
    rows = (j - i).clamp(-m, m) + m
    return q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, table[rows])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    import math

    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    return torch.where(n < exact, n, far.clamp(max=side - 1)) + side * (distance < 0)


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    t = torch.arange(length)
    ahead = t[None, :] - t[:, None]
    return (-slopes[:, None, None] * ahead).masked_fill(ahead < 0, float("-inf"))
