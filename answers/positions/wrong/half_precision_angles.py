"""Angles in the dtype of the vectors: fine in float32, lost in bfloat16."""

import torch


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    w = base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    t = positions.to(x.dtype)[:, None] * w
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)
