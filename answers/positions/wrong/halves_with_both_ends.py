"""The layout of the first implementation: sines before cosines, and one less than half in the exponent."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    half = d_model // 2
    step = math.log(base) / (half - 1)
    angles = torch.arange(length).float()[:, None] * torch.exp(torch.arange(half).float() * -step)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    return torch.where(n < exact, n, far.clamp(max=n_buckets - 1)) + side * (distance > 0)
