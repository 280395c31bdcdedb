"""Groups run down the columns."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=0):
        scale = part.abs().amax(0, keepdim=True) / top
        codes.append((part / torch.where(scale > 0, scale, 1)).round().char())
        scales.append(scale)
    return torch.cat(codes, 0), torch.cat(scales, 0).to(weight.dtype)
