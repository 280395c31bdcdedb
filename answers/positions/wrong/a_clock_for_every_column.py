"""The column's number where the pair's belongs: each column has a frequency of its own."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    codes = torch.zeros(length, d_model)
    for position in range(length):
        for i in range(0, d_model, 2):
            codes[position, i] = math.sin(position / base ** (2 * i / d_model))
            codes[position, i + 1] = math.cos(position / base ** (2 * (i + 1) / d_model))
    return codes


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    theta = theta.repeat_interleave(2, dim=-1)
    first, second = x[..., : d // 2], x[..., d // 2 :]
    return (x * theta.cos() + torch.cat((-second, first), dim=-1) * theta.sin()).to(x.dtype)


def alibi_bias(n_heads, length):
    slopes = torch.pow(2.0, -8.0 * torch.arange(1, n_heads + 1) / n_heads)
    ahead = torch.ones(length, length, dtype=torch.bool).tril()
    steps = ahead.cumsum(dim=-1).masked_fill(~ahead, 0)
    return (slopes[:, None, None] * steps).masked_fill(~ahead, float("-inf"))
