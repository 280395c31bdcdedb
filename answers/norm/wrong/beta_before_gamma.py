"""Shift first, then stretch; and the whole sum is normed where only the input should be."""

import torch
from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    z = (x - mean) * (var + eps).rsqrt()
    return (z + beta) * gamma


def batch_norm(x, gamma, beta, eps=1e-5):
    columns = []
    for j in range(x.shape[1]):
        column = x[:, j]
        centred = column - column.mean()
        scale = (centred.pow(2).mean() + eps).sqrt()
        columns.append(gamma[j] * (centred + beta[j]) / scale)
    return torch.stack(columns, dim=1)


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return self.norm(x + self.sublayer(x, *args))


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return x + self.sublayer(self.norm(x), *args)
