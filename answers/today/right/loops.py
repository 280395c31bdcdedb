"""One row, one head, one word at a time."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        inside = []
        for opens, passes in zip(self.gate.weight, self.up.weight, strict=True):
            z = (x * opens).sum(-1)
            inside.append(z * torch.sigmoid(z) * (x * passes).sum(-1))
        rows = [sum(w * h for w, h in zip(row, inside, strict=True)) for row in self.down.weight]
        return torch.stack(rows, dim=-1)
