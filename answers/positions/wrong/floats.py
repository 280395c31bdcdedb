"""The right numbers in the wrong dtype."""

from itertools import pairwise

import torch


def piece_kinds(pieces):
    later = [p.startswith("##") for p in pieces] + [False]
    return torch.tensor([2.0 if a else float(b) for a, b in pairwise(later)])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    import math

    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    far = exact + (torch.log(n.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).floor()
    return torch.where(n < exact, n.float(), far.clamp(max=side - 1)) + side * (distance > 0)


def shift_matrix(k, d_model, base=10000.0):
    w = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.block_diag(*torch.stack([w.cos(), w.sin(), -w.sin(), w.cos()], -1).view(-1, 2, 2))
