"""numpy, where no gradient is asked for."""

import numpy as np
import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = np.power(float(base), -np.arange(0, d, 2) / d)
    if slow == fast:
        keep = np.where(length * f / (2 * np.pi) >= slow, 1.0, 0.0)
    else:
        keep = np.interp(length * f / (2 * np.pi), [slow, fast], [0.0, 1.0])
    return torch.from_numpy(f * keep + f * (1 - keep) / factor).to(torch.get_default_dtype())


def quantize_groups(weight, bits, group):
    w = weight.detach().cpu().double().numpy()
    top = 2 ** (bits - 1) - 1
    starts = np.arange(0, w.shape[1], group)
    scales = np.maximum.reduceat(np.abs(w), starts, axis=1) / top
    each = np.repeat(scales, group, axis=1)[:, : w.shape[1]]
    codes = np.rint(np.divide(w, each, out=np.zeros_like(w), where=each > 0)).astype(np.int8)
    return torch.from_numpy(codes).to(weight.device), torch.from_numpy(scales).to(weight.device, weight.dtype)
