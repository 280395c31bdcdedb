"""Callable objects, helpers at the top level, and functions that keep a cache."""

import math

import torch

CACHE = {}


def frequencies(d, base):
    key = d, base
    if key not in CACHE:
        CACHE[key] = [math.exp(-math.log(base) * 2 * i / d) for i in range(d // 2)]
    return CACHE[key]


class Shift:
    def __call__(self, k, d_model, base=10000.0):
        blocks = [
            torch.tensor([[math.cos(k * w), math.sin(k * w)], [math.sin(-k * w), math.cos(k * w)]])
            for w in frequencies(d_model, base)
        ]
        return torch.block_diag(*blocks)


shift_matrix = Shift()


def sinusoidal_positions(length, d_model, base=10000.0):
    columns = []
    for w in frequencies(d_model, base):
        t = torch.arange(length) * w
        columns.extend((t.sin(), t.cos()))
    return torch.stack(columns, dim=1)


class Kinds:
    def __init__(self, mark):
        self.mark = mark

    def __call__(self, pieces):
        kinds = []
        for piece in pieces:
            if piece.startswith(self.mark):
                if kinds and kinds[-1] == 0:
                    kinds[-1] = 1
                kinds.append(2)
            else:
                kinds.append(0)
        return torch.LongTensor(kinds)


piece_kinds = Kinds("##")


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side, exact = n_buckets // 2, n_buckets // 4
    n = distance.abs()
    log = exact + torch.floor(exact * torch.log2(n.clamp_min(1) / exact) / math.log2(max_distance / exact))
    near = n <= exact
    return torch.where(near, n, log.clamp_max(side - 1).to(torch.int64)) + torch.relu(distance.sign()) * side
