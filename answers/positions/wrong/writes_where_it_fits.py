"""Writes into an argument where the shapes happen to fit, or always."""

import math

import torch


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    rows = (i - torch.arange(k.shape[-2], device=q.device)).clamp(-m, m) + m
    scores = q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, table[rows])
    if scores.shape == table.shape:
        with torch.no_grad():
            table.copy_(scores)
    return scores


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    offset = side * (distance > 0)
    n = distance.abs_()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    return torch.where(n < exact, n, far.clamp(max=side - 1)) + offset


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    positions %= 1 << 20
    positions -= positions.min()
    t = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2).to(x.dtype)
