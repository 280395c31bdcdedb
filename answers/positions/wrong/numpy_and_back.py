"""Built with NumPy, whose types and axes are not torch's."""

import numpy as np
import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    pos = np.arange(length)[:, np.newaxis]
    i = np.arange(d_model)[np.newaxis, :]
    angles = pos / np.power(base, (2 * (i // 2)) / np.float32(d_model))
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return angles[np.newaxis, ...]


def shift_matrix(k, d_model, base=10000.0):
    w = np.power(base, -np.arange(0, d_model, 2) / d_model)
    m = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    m[even, even] = np.cos(k * w)
    m[even, even + 1] = np.sin(k * w)
    m[even + 1, even] = -np.sin(k * w)
    m[even + 1, even + 1] = np.cos(k * w)
    return m


def rotate(x, positions, base=10000.0):
    array = x.detach().numpy()
    d = array.shape[-1]
    theta = np.outer(positions.numpy(), base ** (-np.arange(0, d, 2) / d))
    out = np.empty_like(array)
    out[..., 0::2] = array[..., 0::2] * np.cos(theta) - array[..., 1::2] * np.sin(theta)
    out[..., 1::2] = array[..., 0::2] * np.sin(theta) + array[..., 1::2] * np.cos(theta)
    return torch.from_numpy(out)


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    index = np.clip(np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])[None, :], -m, m) + m
    near = table.detach()[torch.from_numpy(index)]
    return q @ k.transpose(-2, -1) + torch.einsum("...qd,qkd->...qk", q, near)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    d = distance.numpy()
    half, quarter = n_buckets // 2, n_buckets // 4
    size = np.abs(d)
    far = quarter + np.log(np.maximum(size, 1) / quarter) / np.log(max_distance / quarter) * quarter
    bucket = np.where(size < quarter, size, np.minimum(far, half - 1))
    return torch.from_numpy(bucket + half * (d > 0))


def alibi_bias(n_heads, length):
    slopes = np.array([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    i, j = np.meshgrid(np.arange(length), np.arange(length))
    bias = -slopes[:, None, None] * (i - j)
    bias[:, j > i] = -np.inf
    return torch.tensor(bias, dtype=torch.float32)


def piece_kinds(pieces):
    later = np.array([piece.startswith("##") for piece in pieces])
    first = np.roll(later, -1) & ~later
    return torch.from_numpy(2 * later + first)
