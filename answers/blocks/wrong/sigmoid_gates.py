"""The quick GELU and its neighbours: a sigmoid where Φ belongs."""

import torch
from torch import nn


def gelu(x):
    return x * torch.sigmoid(1.702 * x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        h = self.up(x)
        return self.down(h * self.activation(h))
