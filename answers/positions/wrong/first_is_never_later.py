"""A text begins with a beginning, it thinks."""

import torch


def piece_kinds(pieces):
    kinds = [0] * len(pieces)
    for i in range(1, len(pieces)):
        if pieces[i].startswith("##"):
            kinds[i] = 2
            if kinds[i - 1] == 0:
                kinds[i - 1] = 1
    return torch.tensor(kinds, dtype=torch.int64)
