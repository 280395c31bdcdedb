"""The gate itself, not what it lets through."""

import torch
from torch import nn
from torch.distributions import Normal


def gelu(x):
    return Normal(0.0, 1.0).cdf(x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.activation(self.up(x))


def dropout(x, p, generator):
    kept = torch.rand(x.shape, generator=generator) >= p
    return kept.to(x) / (1 - p) if p < 1 else x * 0.0
