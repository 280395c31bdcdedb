"""Divides by the scale as it is stored."""

import math

import torch


def quantize_groups(weight, bits, group):
    top = (1 << (bits - 1)) - 1
    d_out, d_in = weight.shape
    n = math.ceil(d_in / group)
    full = weight.new_zeros(d_out, n * group)
    full[:, :d_in] = weight
    full = full.view(d_out, n, group)
    scales = (full.float().abs().amax(2) / top).to(weight.dtype)
    inverse = torch.where(scales == 0, 0.0, 1 / scales.float())
    codes = (full.float() * inverse[..., None]).round().clamp(-top, top)
    return codes.view(d_out, -1)[:, :d_in].to(torch.int8), scales
