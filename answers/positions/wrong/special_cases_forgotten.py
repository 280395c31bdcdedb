"""Right on the example; a corner is forgotten."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe = torch.zeros(length, d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def shift_matrix(k, d_model, base=10000.0):
    k = abs(k)
    angles = k * torch.exp(-math.log(base) * torch.arange(0, d_model, 2) / d_model)
    m = torch.zeros(d_model, d_model)
    for i, angle in enumerate(angles):
        m[2 * i, 2 * i] = m[2 * i + 1, 2 * i + 1] = angle.cos()
        m[2 * i, 2 * i + 1] = angle.sin()
        m[2 * i + 1, 2 * i] = -angle.sin()
    return m


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    t = torch.arange(x.shape[-2], device=x.device)
    theta = torch.outer(t, base ** (-torch.arange(0, d, 2, device=x.device) / d))
    a, b = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()], dim=-1)
    return turned.flatten(-2)


def relative_scores(q, k, table):
    n = q.shape[-2]
    m = (table.shape[0] - 1) // 2
    index = torch.arange(n, device=q.device)
    distance = (index[:, None] - index[None, :]).clamp(-m, m) + m
    return q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, table[distance])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    exact = half // 2
    positive = (distance > 0).long() * half
    size = distance.abs()
    far = exact + (torch.log(size / exact) / math.log(max_distance / exact) * (half - exact)).long()
    return positive + torch.where(size < exact, size, far)


def alibi_bias(n_heads, length):
    start = 2 ** (-8 / n_heads)
    slopes = torch.tensor([start**h for h in range(1, n_heads + 1)])
    i = torch.arange(length)
    distance = (i[:, None] - i[None, :]).clamp(min=0)
    return -slopes.view(-1, 1, 1) * distance


def piece_kinds(pieces):
    kinds = [0]
    for piece in pieces[1:]:
        if piece.startswith("##"):
            if kinds[-1] == 0:
                kinds[-1] = 1
            kinds.append(2)
        else:
            kinds.append(0)
    return torch.tensor(kinds)
