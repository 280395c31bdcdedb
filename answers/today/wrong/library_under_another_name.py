"""torch's own version of something that contains it."""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        both = torch.cat([self.gate(x), self.gate(x)], dim=-1)
        return self.down(F.glu(both, dim=-1) * self.up(x))
