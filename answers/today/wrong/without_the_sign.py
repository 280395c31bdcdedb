"""Takes the largest, not the largest in size."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.amax(1, keepdim=True).clamp(min=0) / top
        codes.append((part / torch.where(scale > 0, scale, 1)).round().clamp(-top, top).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)
