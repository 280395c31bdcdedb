"""With a zero point."""

import torch


def quantize_groups(weight, bits, group):
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        low, high = part.amin(1, keepdim=True), part.amax(1, keepdim=True)
        scale = (high - low) / (2**bits - 1)
        zero = torch.round(-low / scale.clamp(min=1e-12))
        codes.append((torch.round(part / scale.clamp(min=1e-12)) + zero - 2 ** (bits - 1)).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)
