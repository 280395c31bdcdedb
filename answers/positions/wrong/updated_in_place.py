"""Something is overwritten before it is read again."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    angles = torch.arange(length, dtype=torch.float32)[:, None].repeat(1, d_model)
    for column in range(d_model):
        angles[:, column] *= base ** (-(column // 2) / d_model)
    angles[:, 0::2] = angles[:, 0::2].sin()
    angles[:, 1::2] = angles[:, 1::2].cos()
    return angles


def shift_matrix(k, d_model, base=10000.0):
    one = torch.eye(d_model)
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    for i in range(d_model // 2):
        c, s = torch.cos(w[i]), torch.sin(w[i])
        one[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.stack([torch.stack([c, s]), torch.stack([-s, c])])
    result = torch.eye(d_model)
    for _ in range(k):
        result = result @ one
    return result


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    x = x.clone()
    for i in range(d // 2):
        theta = positions * base ** (-2 * i / d)
        x[..., 2 * i] = x[..., 2 * i] * theta.cos() - x[..., 2 * i + 1] * theta.sin()
        x[..., 2 * i + 1] = x[..., 2 * i] * theta.sin() + x[..., 2 * i + 1] * theta.cos()
    return x


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    scores = q @ k.transpose(-2, -1)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            step = i - j
            if step < -m:
                step = 0
            if step > m:
                step = 2 * m
            scores[..., i, j] += (q[..., i, :] * table[step + m if abs(step) <= m else step]).sum(-1)
    return scores


def relative_bucket(distance, n_buckets=32, max_distance=128):
    n_buckets //= 2
    bucket = (distance > 0).long() * n_buckets
    distance.abs_()
    exact = n_buckets // 2
    far = distance >= exact
    scale = torch.log(torch.tensor(max_distance / exact))
    distance[far] = (exact + (distance[far] / exact).log() / scale * exact).long().clamp(max=n_buckets - 1)
    return bucket + distance


def alibi_bias(n_heads, length):
    slope = 1.0
    ratio = 2 ** (-8 / n_heads)
    bias = torch.full((n_heads, length, length), float("-inf"))
    for h in range(n_heads):
        for i in range(length):
            for j in range(i + 1):
                bias[h, i, j] = -slope * (i - j)
        slope *= ratio
    return bias


def piece_kinds(pieces):
    kinds = []
    previous = 0
    for piece in pieces:
        if piece.startswith("##"):
            if previous == 0 and kinds:
                kinds[-1] = 1
            kinds.append(2)
        else:
            kinds.append(0)
        previous = kinds[0]
    return torch.tensor(kinds, dtype=torch.int64)
