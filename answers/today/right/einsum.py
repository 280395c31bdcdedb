"""Products as einsum, halves by hand."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = torch.einsum("...d,fd->...f", x, self.gate.weight)
        up = torch.einsum("...d,fd->...f", x, self.up.weight)
        return torch.einsum("...f,df->...d", gate * up * (1 + torch.tanh(gate / 2)) / 2, self.down.weight)
