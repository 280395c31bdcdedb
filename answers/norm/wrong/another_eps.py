"""The eps of other libraries: 1e-6 in the norm of a block, 1e-12 as the default of a function."""

from torch import nn


def layer_norm(x, gamma, beta, eps=1e-12):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta


def batch_norm(x, gamma, beta, eps=1e-3):
    centred = x - x.mean(0)
    return gamma * centred / (centred.square().mean(0) + eps).sqrt() + beta


def rms_norm(x, gamma, eps=1e-5):
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return x + self.sublayer(self.norm(x), *args)


class PostNorm(PreNorm):
    def forward(self, x, *args):
        return self.norm(x + self.sublayer(x, *args))
