"""Element by element, with math.erf: the numbers are right, the graph is gone."""

import math

import torch
from torch import nn


def gelu(x):
    values = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.flatten().tolist()]
    return torch.tensor(values).reshape(x.shape)


def dropout(x, p, generator):
    out = []
    for v, r in zip(x.flatten().tolist(), torch.rand(x.numel(), generator=generator).tolist(), strict=False):
        out.append(0.0 if r < p else v / (1 - p))
    return torch.tensor(out, dtype=x.dtype).reshape(x.shape)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        rows = []
        for position in range(x.shape[1]):
            rows.append(self.down(self.activation(self.up(x[:, position]))))
        return torch.stack(rows, 0)
