"""Integers where broken numbers are needed: frequencies, logarithms and slopes are cut off."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    t = torch.arange(length)[:, None]
    frequency = torch.tensor([base ** (-2 * (i // d_model)) for i in range(d_model // 2)])
    angles = t * frequency
    codes = torch.zeros(length, d_model)
    codes[:, 0::2] = angles.sin()
    codes[:, 1::2] = angles.cos()
    return codes


def shift_matrix(k, d_model, base=10000.0):
    blocks = []
    for i in range(d_model // 2):
        angle = k // base ** (2 * i / d_model)
        blocks.append(torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]))
    return torch.block_diag(*blocks)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    periods = base ** (torch.arange(0, d, 2, device=x.device) / d)
    theta = positions[:, None] // periods
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = (a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos())
    return torch.stack(pairs, dim=-1).reshape(x.shape)


def relative_scores(q, k, table):
    m = table.shape[0]
    i = torch.arange(q.shape[-2], device=q.device)
    j = torch.arange(k.shape[-2], device=q.device)
    distance = (i[:, None] - j[None, :]).clamp(-m // 2, m // 2)
    vectors = table[distance + m // 2]
    return q @ k.transpose(-2, -1) + torch.einsum("...id,ijd->...ij", q, vectors)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    exact = half // 2
    size = distance.abs()
    steps = (size // exact).clamp(min=1)
    far = exact + (steps.double().log() / math.log(max_distance // exact) * (half - exact)).long()
    bucket = torch.where(size < exact, size, far.clamp(max=half - 1))
    return bucket + (distance > 0).long() * half


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2.0 ** (-(8 * h // n_heads)) for h in range(1, n_heads + 1)])
    i = torch.arange(length)
    distance = i[:, None] - i
    bias = -slopes[:, None, None] * distance
    return bias.masked_fill(distance < 0, float("-inf"))


def piece_kinds(pieces):
    kinds = torch.zeros(len(pieces))
    for i, piece in enumerate(pieces):
        if piece.startswith("##"):
            kinds[i] = 2
            if i > 0 and kinds[i - 1] == 0:
                kinds[i - 1] = 1
    return kinds
