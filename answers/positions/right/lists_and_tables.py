"""Tables of borders and comprehension lists."""

import math

import torch


def relative_bucket(distance, n_buckets=32, max_distance=128):
    quarter = n_buckets // 4
    begins = [quarter * (max_distance / quarter) ** (step / quarter) for step in range(quarter)]
    begins = list(range(1, quarter)) + [math.ceil(begin - 1e-6) for begin in begins]
    reached = distance.abs().unsqueeze(-1) >= torch.tensor(begins, device=distance.device)
    return reached.sum(-1) + torch.where(distance > 0, n_buckets // 2, 0)


def piece_kinds(pieces):
    marked = "".join("2" if piece.startswith("##") else "0" for piece in pieces)
    return torch.tensor([int(kind) for kind in marked.replace("02", "12")], dtype=torch.int64)
