"""Half precision inside."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    r = f * length / (2 * math.pi)
    keep = (r >= slow).double() if slow == fast else torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (f * keep + f * (1 - keep) / factor).half().float()


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top
        codes.append(torch.where(scale > 0, (part / scale).round(), 0).char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1)
