"""Halves instead of neighbours, as many checkpoints have it."""

import torch


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    t = torch.cat([t, t], -1)
    a, b = x.chunk(2, dim=-1)
    return (x * t.cos() + torch.cat([-b, a], -1) * t.sin()).to(x.dtype)


def sinusoidal_positions(length, d_model, base=10000.0):
    t = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.cat([t.sin(), t.cos()], dim=1)


def shift_matrix(k, d_model, base=10000.0):
    w = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    c, s = torch.diag(w.cos()), torch.diag(w.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)], 0)
