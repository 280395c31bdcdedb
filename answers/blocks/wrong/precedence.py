"""A bracket is missing."""

import math

import torch
from torch import nn


def gelu(x):
    return 0.5 * x * 1 + torch.erf(x / math.sqrt(2))


def dropout(x, p, generator):
    mask = torch.rand(x.shape, generator=generator) >= p
    return x * mask / 1 - p


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = self.up(x)
        hidden = self.activation(hidden)
        return self.down(hidden).squeeze()
