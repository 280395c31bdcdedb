"""Rounds by chance."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    noise = torch.Generator().manual_seed(0)
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        exact = part / torch.where(scale > 0, scale, 1)
        codes.append((exact + torch.rand(part.shape, generator=noise)).floor().clamp(-top, top).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)
