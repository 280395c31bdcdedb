"""Both branches of a `where` are computed, and both have a gradient."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        z = self.gate(x)
        right, left = 1 / (1 + torch.exp(-z)), torch.exp(z) / (1 + torch.exp(z))
        return self.down(self.up(x) * z * torch.where(z > 0, right, left))
