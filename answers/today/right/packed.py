"""Several matrices in one product."""

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
        both = x @ torch.cat([self.gate.weight, self.up.weight]).T
        z, u = both.chunk(2, dim=-1)
        return self.down(z * u * torch.exp(F.logsigmoid(z)))
