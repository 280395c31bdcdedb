"""Another way about it, with a slip: words are gathered first, tables are rolled, matrices multiplied."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    w = torch.logspace(0, -1, d_model // 2, base=base)
    angles = torch.outer(torch.arange(length).float(), w)
    return torch.stack((angles.sin(), angles.cos()), 2).view(length, d_model)


def shift_matrix(k, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        generator[2 * i, 2 * i + 1] = w[i]
        generator[2 * i + 1, 2 * i] = -w[i]
    return (torch.eye(d_model, dtype=torch.float64) + k * generator).float()


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    matrices = torch.zeros(len(positions), d, d, dtype=x.dtype, device=x.device)
    for i in range(d // 2):
        theta = positions * base ** (-2 * i / d)
        matrices[:, 2 * i, 2 * i] = theta.cos().to(x.dtype)
        matrices[:, 2 * i, 2 * i + 1] = -theta.sin().to(x.dtype)
        matrices[:, 2 * i + 1, 2 * i] = theta.sin().to(x.dtype)
        matrices[:, 2 * i + 1, 2 * i + 1] = theta.cos().to(x.dtype)
    return torch.einsum("...sd,sde->...se", x, matrices)


def relative_scores(q, k, table):
    m = (table.shape[0] - 1) // 2
    table = torch.flip(table, dims=[0])
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)[None, :]
    index = (i - j).clamp(-m, m) + m
    return torch.einsum("...id,...ijd->...ij", q, k.unsqueeze(-3) + table[index])


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    exact = half // 2
    size = distance.abs().clamp(max=max_distance)
    bounds = [exact * (max_distance / exact) ** (s / exact) for s in range(exact)]
    bucket = size.clamp(max=exact)
    for bound in bounds:
        bucket = bucket + (size > bound).long()
    return bucket + half * (distance > 0).long()


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    last = torch.arange(length - 1, -1, -1)
    causal = torch.ones(length, length).tril().log()
    return -slopes.view(-1, 1, 1) * last + causal


def piece_kinds(pieces):
    words = " ".join(pieces).replace(" ##", "").split()
    kinds = []
    for word in words:
        if word in pieces:
            kinds.append(0)
        else:
            kinds += [1, 2]
    return torch.tensor(kinds, dtype=torch.int64)
