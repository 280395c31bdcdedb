"""Angles in degrees, as if sine took them so."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.rad2deg(torch.arange(length)[:, None] * w)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def shift_matrix(k, d_model, base=10000.0):
    w = torch.rad2deg(k * base ** (-torch.arange(0, d_model, 2) / d_model))
    return torch.block_diag(*torch.stack([w.cos(), w.sin(), -w.sin(), w.cos()], -1).view(-1, 2, 2))


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = torch.rad2deg(positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d))
    a, b = x[..., 0::2], x[..., 1::2]
    c, s = angles.cos(), angles.sin()
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2).to(x.dtype)
