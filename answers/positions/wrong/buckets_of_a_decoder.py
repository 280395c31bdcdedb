"""T5's buckets for a decoder: one direction."""

import math

import torch


def relative_bucket(distance, n_buckets=32, max_distance=128):
    n = (-distance).clamp(min=0)
    exact = n_buckets // 2
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    return torch.where(n < exact, n, far.clamp(max=n_buckets - 1))
