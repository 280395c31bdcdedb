"""A condition that asks nearly the right thing."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    t = torch.arange(length, dtype=torch.float64)[:, None]
    column = torch.arange(d_model)[None, :]
    angle = t * base ** (-(column - column % 2) / d_model)
    return torch.where(column % 2 == 1, angle.sin(), angle.cos()).float()


def shift_matrix(k, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for row in range(d_model):
        for column in range(d_model):
            angle = k * base ** (-2 * (row // 2) / d_model)
            if row == column:
                matrix[row, column] = math.cos(angle)
            elif abs(row - column) == 1:
                matrix[row, column] = math.sin(angle) if row < column else -math.sin(angle)
    return matrix


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    cos = theta.cos().repeat(1, 2)
    sin = theta.sin().repeat(1, 2)
    swapped = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * cos + swapped * sin


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)[None, :]
    near = (i - j).abs() <= m
    index = (i - j).clamp(-m, m) + m
    by_distance = torch.einsum("...id,ijd->...ij", q, table[index])
    return q @ k.transpose(-2, -1) + by_distance * near


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    exact = half // 2
    size = distance.abs()
    far = exact + (torch.log(size.clamp(min=exact) / exact) / math.log(max_distance / exact) * exact).long()
    bucket = torch.where(size < exact, size, far.clamp(max=half - 1))
    return torch.where(distance >= 0, bucket + half, bucket)


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    i = torch.arange(length)
    distance = i[:, None] - i[None, :]
    bias = -slopes[:, None, None] * distance
    return bias.masked_fill(distance <= 0, float("-inf"))


def piece_kinds(pieces):
    kinds = []
    for i in range(len(pieces)):
        if pieces[i].startswith("#"):
            kinds.append(2)
        elif i < len(pieces) - 1 and pieces[i + 1].startswith("#"):
            kinds.append(1)
        else:
            kinds.append(0)
    return torch.tensor(kinds, dtype=torch.int64)
