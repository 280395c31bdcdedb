"""Right numbers, written into an argument whose shape happens to fit."""

from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    unit = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    if unit.shape == gamma.shape:
        gamma.mul_(unit)
        return gamma + beta
    return gamma * unit + beta


def rms_norm(x, gamma, eps=1e-6):
    unit = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return gamma.mul_(unit) if unit.shape == gamma.shape else gamma * unit


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    gamma /= ((x - mean).square().mean(0) + eps).sqrt()
    return gamma * (x - mean) + beta


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        result = x + self.sublayer(self.norm(x), *args)
        for extra in args:
            if getattr(extra, "shape", None) == x.shape:
                extra.zero_()
        return result
