"""Clips one too far or not far enough."""

import math

import torch


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)
    rows = (i - j).clamp(-m, max(m - 1, 0)) + m
    return q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, table[rows])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    return torch.where(n < exact, n, far.clamp(max=side - 2)) + side * (distance > 0)
