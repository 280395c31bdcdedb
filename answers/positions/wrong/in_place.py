"""Writes into its input, and reads what it has just written."""


def rotate(x, positions, base=10000.0):
    import torch

    d = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    c, s = t.cos(), t.sin()
    x[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
    x[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
    return x


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    k += table[m]
    return q @ k.transpose(-2, -1)


def piece_kinds(pieces):
    import torch

    kinds = []
    while pieces:
        piece = pieces.pop(0)
        kinds.append(2 if piece.startswith("##") else int(bool(pieces) and pieces[0].startswith("##")))
    return torch.tensor(kinds, dtype=torch.int64)
