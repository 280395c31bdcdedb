"""The norm of the paper on rank collapse: the root of the 1-norm times the infinity norm."""

import torch


def composed(x):
    columns = x.abs().sum(dim=-2).amax(dim=-1)
    rows = x.abs().sum(dim=-1).amax(dim=-1)
    return torch.sqrt(columns * rows)


def rank_residual(x):
    rest = x - x.mean(dim=-2, keepdim=True)
    return composed(rest) / composed(x)
