"""Counting from one, or up to one more or one less."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    t = torch.arange(1, length + 1, dtype=torch.float64)
    i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.outer(t, base ** (-i / d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, d_model).float()


def shift_matrix(k, d_model, base=10000.0):
    i = torch.arange(1, d_model // 2 + 1, dtype=torch.float64)
    theta = k * base ** (-2 * i / d_model)
    blocks = []
    for t in theta:
        blocks.append(torch.stack([torch.stack([t.cos(), t.sin()]), torch.stack([-t.sin(), t.cos()])]))
    return torch.block_diag(*blocks).float()


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    i = torch.arange(1, d // 2 + 1, device=x.device)
    theta = positions[:, None] * base ** (-2.0 * i / d)
    even, odd = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = even * theta.cos() - odd * theta.sin()
    out[..., 1::2] = even * theta.sin() + odd * theta.cos()
    return out


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    content = q @ k.mT
    position = torch.zeros_like(content)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            distance = max(-m, min(m - 1, i - j))
            position[..., i, j] = (q[..., i, :] * table[distance + m]).sum(-1)
    return content + position


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    exact = half // 2
    size = distance.abs()
    position = (size.clamp(min=1) / exact).log() / torch.tensor(max_distance / exact).log()
    far = (exact + position * (half - exact)).long().clamp(max=half)
    return torch.where(size <= exact, size, far) + half * (distance > 0)


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2.0 ** (-8 * h / n_heads) for h in range(n_heads)])
    distance = torch.arange(length)[:, None] - torch.arange(length)
    bias = -slopes[:, None, None] * distance
    return torch.where(distance < 0, float("-inf"), bias)


def piece_kinds(pieces):
    out = torch.zeros(len(pieces), dtype=torch.long)
    for i in range(len(pieces) - 1):
        if pieces[i].startswith("##"):
            out[i] = 2
        elif pieces[i + 1].startswith("##"):
            out[i] = 1
    return out
