"""As Llama's own code has it: by wavelengths, with three cases."""

import math

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = 1.0 / (base ** (torch.arange(0, d, 2, dtype=torch.float64) / d))
    wavelength = 2 * math.pi / f
    if slow == fast:
        long = length < slow * wavelength
        return torch.where(long, f / factor, f).to(torch.get_default_dtype())
    smooth = (length / wavelength - slow) / (fast - slow)
    mixed = (1 - smooth) * f / factor + smooth * f
    out = torch.where(smooth <= 0, f / factor, torch.where(smooth >= 1, f, mixed))
    return out.float()
