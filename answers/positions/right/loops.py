"""Plain Python loops over every entry."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    rows = []
    for t in range(length):
        row = []
        for column in range(d_model):
            angle = t / base ** ((column - column % 2) / d_model)
            row.append(math.cos(angle) if column % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows)


def shift_matrix(k, d_model, base=10000.0):
    rows = [[0.0] * d_model for _ in range(d_model)]
    for c in range(0, d_model, 2):
        turn = k * base ** (-c / d_model)
        rows[c][c] = rows[c + 1][c + 1] = math.cos(turn)
        rows[c][c + 1], rows[c + 1][c] = math.sin(turn), -math.sin(turn)
    return torch.tensor(rows)


def rotate(x, positions, base=10000.0):
    columns = []
    for i in range(x.shape[-1] // 2):
        theta = positions.to(torch.float64) * base ** (-2 * i / x.shape[-1])
        cos, sin = theta.cos().to(x.dtype), theta.sin().to(x.dtype)
        a, b = x[..., 2 * i], x[..., 2 * i + 1]
        columns += [a * cos - b * sin, a * sin + b * cos]
    return torch.stack(columns, dim=-1)


def relative_scores(q, k, table):
    m = len(table) // 2
    rows = []
    for i in range(q.shape[-2]):
        row = []
        for j in range(k.shape[-2]):
            where = min(max(i - j, -m), m) + m
            row.append((q[..., i, :] * (k[..., j, :] + table[where])).sum(-1))
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    def one(d):
        n, quarter = abs(d), n_buckets // 4
        b = n
        if n >= quarter:
            b = quarter + int(math.log(n / quarter) / math.log(max_distance / quarter) * quarter)
        return min(b, 2 * quarter - 1) + (2 * quarter if d > 0 else 0)

    return torch.tensor([one(d) for d in distance.flatten().tolist()], device=distance.device).reshape(distance.shape)


def alibi_bias(n_heads, length):
    bias = torch.empty(n_heads, length, length)
    for h in range(n_heads):
        slope = 2.0 ** (-8 * (h + 1) / n_heads)
        for i in range(length):
            for j in range(length):
                bias[h, i, j] = -slope * (i - j) if j <= i else float("-inf")
    return bias


def piece_kinds(pieces):
    kinds = torch.zeros(len(pieces), dtype=torch.int64)
    for i, piece in enumerate(pieces):
        if piece.startswith("##"):
            kinds[i] = 2
        elif i + 1 < len(pieces) and pieces[i + 1].startswith("##"):
            kinds[i] = 1
    return kinds
