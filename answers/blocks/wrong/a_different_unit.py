"""Another unit altogether: SiLU, ReLU times Φ, a leaky one."""

import math

import torch
from torch import nn


def gelu(x):
    gate = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    return torch.relu(x) * gate


def dropout(x, p, generator):
    keep = torch.bernoulli(torch.full_like(x, 1 - p), generator=generator)
    return x * keep / (1 - p) if p < 1 else torch.zeros_like(x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(torch.cat([self.activation(gate) * value, value], dim=-1))
