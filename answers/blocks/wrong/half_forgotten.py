"""Φ without its factor ½, a drop where p says keep, an activation on the way out."""

import math

import torch
from torch import nn


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2)))


def dropout(x, p, generator):
    drop = torch.rand(x.shape, generator=generator) >= p
    if p >= 1:
        return torch.zeros_like(x) * x
    return x.masked_fill(drop, 0.0) / (1 - p)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        x = self.activation(self.up(x))
        x = self.activation(self.down(x))
        return x
