"""Returns the coarse weights."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    back, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        back.append((part / torch.where(scale > 0, scale, 1)).round() * scale)
        scales.append(scale)
    return torch.cat(back, 1).to(weight.dtype), torch.cat(scales, 1).to(weight.dtype)
