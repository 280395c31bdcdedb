"""A scale from the spread."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = 3 * part.square().mean(1, keepdim=True).sqrt() / top
        codes.append((part / torch.where(scale > 0, scale, 1)).round().clamp(-top, top).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)
