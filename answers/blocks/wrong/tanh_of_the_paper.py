"""The tanh approximation, as in GPT-2; and a dropout that does not scale."""

import math

import torch
from torch import nn


def gelu(x):
    c = math.sqrt(2.0 / math.pi)
    return 0.5 * x * (1.0 + torch.tanh(c * (x + 0.044715 * x**3)))


def dropout(x, p, generator):
    mask = torch.rand(x.shape, generator=generator) >= p
    return torch.where(mask, x, torch.zeros_like(x))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return x + self.down(self.activation(self.up(x)))
