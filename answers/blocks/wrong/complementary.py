"""erfc with the wrong sign: the other tail."""

import math

import torch
from torch import nn


def gelu(x):
    tail = 0.5 * torch.special.erfc(x / math.sqrt(2))
    return x * tail


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


def dropout(x, p, generator):
    noise = torch.rand(x.shape, generator=generator)
    if p == 1.0:
        return torch.zeros_like(x)
    return x * (noise < p) / (1 - p)
