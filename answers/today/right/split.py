"""Groups one after the other."""

import torch


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    w = weight.detach().float()
    codes, scales = [], []
    for part in w.split(group, dim=1):
        scale = part.abs().max(dim=1, keepdim=True)[0] / top
        code = (part / scale).round()
        codes.append(torch.where(scale > 0, code, torch.zeros_like(part)).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).type_as(weight)
