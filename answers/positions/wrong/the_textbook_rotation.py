"""The rotation matrix as textbooks print it, which moves (sine, cosine) back."""

import torch


def shift_matrix(k, d_model, base=10000.0):
    w = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    c, s = w.cos(), w.sin()
    return torch.block_diag(*torch.stack([c, -s, s, c], -1).view(-1, 2, 2))


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    c, s = t.cos(), t.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * c + b * s, b * c - a * s], -1).flatten(-2).to(x.dtype)
