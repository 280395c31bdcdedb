"""The exponent of the frequencies is not the one of the paper."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    pe = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1).float()
    div_term = torch.exp(torch.arange(0, d_model // 2).float() * -(math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / base ** (2 * i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        m[i, i], m[i, i + 1] = c, s
        m[i + 1, i], m[i + 1, i + 1] = -s, c
    return m


def rotate(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    inv_freq = 1.0 / base ** (torch.arange(half, dtype=torch.float64, device=x.device) / x.shape[-1])
    theta = positions.unsqueeze(-1) * inv_freq
    cos, sin = theta.cos().to(x.dtype), theta.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    n, s = q.shape[-2], k.shape[-2]
    distance = torch.arange(n, device=q.device)[:, None] - torch.arange(s, device=q.device)[None, :]
    index = torch.clamp(distance, -m, m)
    return q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, table[index])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    offset = (distance > 0).long() * half
    n = distance.abs()
    exact = half // 2
    log_ratio = torch.log2(n.float() / exact) / math.log(max_distance / exact)
    large = exact + (log_ratio * (half - exact)).long()
    large = torch.min(large, torch.full_like(large, half - 1))
    return offset + torch.where(n < exact, n, large)


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2 ** (-h / n_heads) for h in range(1, n_heads + 1)])
    i = torch.arange(length)[:, None]
    j = torch.arange(length)[None, :]
    bias = -slopes[:, None, None] * (i - j)
    return bias.masked_fill(j > i, float("-inf"))


def piece_kinds(pieces):
    kinds = []
    for i, piece in enumerate(pieces):
        if piece.startswith("##"):
            kinds.append(1)
        elif i + 1 < len(pieces) and pieces[i + 1].startswith("##"):
            kinds.append(2)
        else:
            kinds.append(0)
    return torch.tensor(kinds, dtype=torch.int64)
