"""A sign or a direction is the other one."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    out = torch.empty(length, d_model)
    for t in range(length):
        for i in range(d_model // 2):
            angle = t * base ** (2 * i / d_model)
            out[t, 2 * i] = math.sin(angle)
            out[t, 2 * i + 1] = math.cos(angle)
    return out


def shift_matrix(k, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        w = base ** (-2 * i / d_model)
        rotation = torch.tensor([[math.cos(w * k), -math.sin(w * k)], [math.sin(w * k), math.cos(w * k)]])
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = rotation
    return matrix


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    w = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float64) / d)
    theta = (positions[:, None] * w).to(x.dtype)
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs.unbind(-1)
    new = [a * torch.cos(theta) + b * torch.sin(theta), b * torch.cos(theta) - a * torch.sin(theta)]
    return torch.stack(new, -1).flatten(-2)


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    rows = torch.arange(q.shape[-2], device=q.device)
    columns = torch.arange(k.shape[-2], device=q.device)
    offsets = torch.clip(columns[None, :] - rows[:, None], -m, m) + m
    return torch.matmul(q, k.transpose(-1, -2)) + (q.unsqueeze(-2) * table[offsets]).sum(-1)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    quarter = n_buckets // 4
    sign = (distance < 0).to(torch.int64)
    d = torch.abs(distance)
    log = torch.log(d.clamp(min=1).to(torch.float64) / quarter) / math.log(max_distance / quarter)
    far = torch.clamp(quarter + (log * quarter).to(torch.int64), max=half - 1)
    return torch.where(d < quarter, d, far) + sign * half


def alibi_bias(n_heads, length):
    slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
    relative = torch.arange(length).view(-1, 1) - torch.arange(length).view(1, -1)
    bias = slopes.view(-1, 1, 1) * relative
    later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    return bias.masked_fill(later, float("-inf"))


def piece_kinds(pieces):
    result = []
    for n, piece in enumerate(pieces):
        if piece[:2] == "##":
            result.append(2)
        elif n > 0 and pieces[n - 1][:2] == "##":
            result.append(1)
        else:
            result.append(0)
    return torch.tensor(result, dtype=torch.long)
