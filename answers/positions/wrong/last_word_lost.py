"""Fails at the ends: the last piece, the empty list, a single position."""

import torch


def piece_kinds(pieces):
    return torch.tensor(
        [2 if p.startswith("##") else int(pieces[i + 1].startswith("##")) for i, p in enumerate(pieces)]
    )


def sinusoidal_positions(length, d_model, base=10000.0):
    w = base ** (-torch.arange(0, d_model, 2) / d_model)
    t = torch.linspace(0, length - 1, length - 1)[:, None] * w
    return torch.stack([t.sin(), t.cos()], -1).flatten(-2)
