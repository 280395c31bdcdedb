"""The first half is there, the second is not yet."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    t = torch.arange(length).unsqueeze(1)
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    codes = torch.zeros(length, d_model)
    codes[:, 0::2] = torch.sin(t * w)
    # the cosine comes here
    return codes


def shift_matrix(k, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    diagonal = torch.repeat_interleave(torch.cos(k * w), 2)
    return torch.diag(diagonal)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    i = torch.arange(0, d, 2, device=x.device)
    theta = positions[:, None] * base ** (-i / d)
    out = x.clone()
    out[..., 0::2] = x[..., 0::2] * torch.cos(theta) - x[..., 1::2] * torch.sin(theta)
    return out


def relative_scores(q, k, table):
    content = torch.matmul(q, k.transpose(-2, -1))
    m = (table.shape[0] - 1) // 2
    position = torch.matmul(q, table[m])
    return content + position.unsqueeze(-1)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    offset = (distance > 0).long() * half
    return offset + distance.abs().clamp(max=half - 1)


def alibi_bias(n_heads, length):
    slope = [math.pow(2, -8 * h / n_heads) for h in range(1, n_heads + 1)]
    bias = torch.zeros(n_heads, length, length)
    for h in range(n_heads):
        for i in range(length):
            for j in range(i):
                bias[h, i, j] = -slope[h] * (i - j)
    return bias


def piece_kinds(pieces):
    return torch.tensor([int("##" in piece) for piece in pieces], dtype=torch.int64)
