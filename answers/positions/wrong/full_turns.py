"""A factor of 2π: the first clock comes round at every position."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    w = 2 * math.pi * base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length)[:, None] * w
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def shift_matrix(k, d_model, base=10000.0):
    w = 2 * math.pi * k * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.block_diag(*torch.stack([w.cos(), w.sin(), -w.sin(), w.cos()], -1).view(-1, 2, 2))
