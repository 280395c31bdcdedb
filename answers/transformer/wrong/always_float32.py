"""Works in float32, whatever comes in; the shift comes out as floats."""

import math

import torch


def embed(ids, table, positions):
    return table.float()[ids] * math.sqrt(table.shape[-1]) + positions.float()[: ids.shape[-1]]


def shift_right(targets, bos):
    start = torch.full((len(targets), 1), float(bos))
    return torch.cat([start, targets[:, :-1].float()], dim=1)
