"""Rounds to the nearest, or up."""

import math

import torch


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).ceil().long()
    return torch.where(n < exact, n, far.clamp(max=side - 1)) + side * (distance > 0)


def sinusoidal_positions(length, d_model, base=10000.0):
    w = (base ** (-torch.arange(0, d_model, 2) / d_model)).round(decimals=2)
    t = torch.arange(length)[:, None] * w
    return torch.stack([t.sin(), t.cos()], -1).flatten(-2)
