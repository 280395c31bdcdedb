"""i runs over even numbers, and is doubled once more."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    codes = torch.zeros(length, d_model)
    for t in range(length):
        for i in range(0, d_model, 2):
            angle = t / base ** ((2 * i) / d_model)
            codes[t, i], codes[t, i + 1] = math.sin(angle), math.cos(angle)
    return codes


def shift_matrix(k, d_model, base=10000.0):
    w = k * base ** (-2 * torch.arange(0, d_model, 2) / d_model)
    return torch.block_diag(*torch.stack([w.cos(), w.sin(), -w.sin(), w.cos()], -1).view(-1, 2, 2))


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    t = positions[:, None] * base ** (-2 * torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2).to(x.dtype)


def alibi_bias(n_heads, length):
    slopes = torch.pow(2.0, -8.0 * torch.arange(1, n_heads + 1) / n_heads)
    row = torch.arange(1 - length, 1) * slopes[:, None]
    causal = torch.ones(length, length).triu(1).bool()
    return row[:, None].repeat(1, length, 1).masked_fill(causal, -torch.inf)
