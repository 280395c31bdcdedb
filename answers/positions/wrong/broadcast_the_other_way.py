"""A dimension in the wrong place: rows for columns, heads last, a batch too many."""

from itertools import pairwise

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    i = torch.arange(0, d_model, 2)
    angles = torch.arange(length).unsqueeze(0) / base ** (i.unsqueeze(1) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=1).reshape(d_model, length)


def shift_matrix(k, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    c, s = torch.cos(k * w), torch.sin(k * w)
    return torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    w = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = positions.unsqueeze(-1) * w
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.cat([first, second], dim=-1)


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    i = torch.arange(q.shape[-2], device=q.device)
    j = torch.arange(k.shape[-2], device=q.device)
    by_distance = q @ table.T
    index = (i[:, None] - j[None, :]).clamp(-m, m) + m
    return q @ k.transpose(-2, -1) + by_distance[..., index].sum(-1)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    edges = torch.logspace(0, 1, n_buckets // 4, base=max_distance / (n_buckets // 4)) * (n_buckets // 4)
    size = distance.abs()
    near = size.clamp(max=n_buckets // 4 - 1)
    far = torch.bucketize(size, edges, right=True)
    return near + far + (distance > 0) * (n_buckets // 2)


def alibi_bias(n_heads, length):
    slopes = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    j = torch.arange(length)
    bias = -slopes[:, None] * (length - 1 - j)
    return bias[:, None, :].expand(n_heads, length, length)


def piece_kinds(pieces):
    kinds = [2 if p.startswith("##") else int(n.startswith("##")) for p, n in pairwise(pieces)]
    return torch.tensor(kinds, dtype=torch.int64)
