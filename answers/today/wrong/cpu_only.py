"""Makes tensors on the CPU."""

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
        open_ = torch.zeros(z.shape, dtype=z.dtype)
        open_ = open_ + z * torch.sigmoid(z)
        return self.down(open_ * self.up(x))
