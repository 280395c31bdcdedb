"""Python's own lists come back, or a dimension has gone."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    def code(t):
        row = []
        for i in range(d_model // 2):
            angle = t * base ** (-2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        return row

    return [code(t) for t in range(length)]


def shift_matrix(k, d_model, base=10000.0):
    matrix = [[0.0] * d_model for _ in range(d_model)]
    for i in range(0, d_model, 2):
        angle = k * base ** (-i / d_model)
        matrix[i][i] = matrix[i + 1][i + 1] = math.cos(angle)
        matrix[i][i + 1] = math.sin(angle)
        matrix[i + 1][i] = -math.sin(angle)
    return matrix


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    i, j = torch.meshgrid(torch.arange(q.shape[-2]), torch.arange(k.shape[-2]), indexing="xy")
    index = (i - j).clamp(-m, m) + m
    relative = torch.einsum("...id,ijd->...ij", q, table[index])
    return q @ k.transpose(-2, -1) + relative


def relative_bucket(distance, n_buckets=32, max_distance=128):
    def one(d):
        offset = n_buckets // 2 if d > 0 else 0
        d = abs(d)
        exact = n_buckets // 4
        if d < exact:
            return offset + d
        far = exact + int(math.log(d / exact) / math.log(max_distance / exact) * exact)
        return offset + min(far, n_buckets // 2 - 1)

    return torch.tensor([one(int(d)) for d in distance.flatten()])


def alibi_bias(n_heads, length):
    maps = []
    for h in range(1, n_heads + 1):
        rows = [
            [-(2 ** (-8 * h / n_heads)) * (i - j) if j <= i else float("-inf") for j in range(length)]
            for i in range(length)
        ]
        maps.append(torch.tensor(rows))
    return maps


def piece_kinds(pieces):
    kinds = []
    for i, piece in enumerate(pieces):
        following = pieces[i + 1] if i + 1 < len(pieces) else ""
        kinds.append(2 if piece.startswith("##") else 1 if following.startswith("##") else 0)
    return kinds
