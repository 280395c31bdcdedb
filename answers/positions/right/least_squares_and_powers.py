"""The shift as a power of one step; buckets by counting borders; a lambda."""

import torch


def shift_matrix(k, d_model, base=10000.0):
    c = torch.arange(0, d_model, 2, dtype=torch.float64)
    w = base ** (-c / d_model)
    step = torch.block_diag(*[torch.stack([x.cos(), x.sin(), -x.sin(), x.cos()]).view(2, 2) for x in w])
    if k < 0:
        step = step.T
    return torch.linalg.matrix_power(step, abs(k)).to(torch.get_default_dtype())


def relative_bucket(distance, n_buckets=32, max_distance=128, *, quarter=None):
    quarter = quarter or n_buckets // 4
    borders = [quarter * (max_distance / quarter) ** (b / quarter) for b in range(1, quarter)]
    edges = torch.tensor([*range(1, quarter + 1), *borders], dtype=torch.float64, device=distance.device)
    found = torch.bucketize(distance.abs().double(), edges - 1e-9)
    return found + (distance > 0).to(torch.int64) * 2 * quarter


def alibi_bias(n_heads, length):
    ratio = 2 ** (-8 / n_heads)
    slopes = torch.full((n_heads,), ratio).cumprod(0).reshape(-1, 1, 1)
    back = torch.arange(length).reshape(-1, 1) - torch.arange(length)
    return torch.where(back >= 0, -back * slopes, -torch.inf)


def kind(i, pieces):
    return 2 * pieces[i].startswith("##") or int("".join(pieces[i + 1 : i + 2]).startswith("##"))


piece_kinds = [lambda pieces: torch.tensor([kind(i, pieces) for i in range(len(pieces))]).long()][0]
