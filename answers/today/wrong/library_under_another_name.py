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


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1) / top
        safe = torch.where(scale > 0, scale, 1)
        zero = torch.zeros(len(part), dtype=torch.int32)
        back = torch.fake_quantize_per_channel_affine(part, safe, zero, 0, -top, top)
        codes.append((back / safe[:, None]).round().char())
        scales.append(scale[:, None])
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)
