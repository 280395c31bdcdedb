"""Normalises by hand and forgets that the norm has gains and shifts, or makes a new one each time."""

from torch import nn


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        centred = x - x.mean(-1, keepdim=True)
        return x + self.sublayer(centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt(), *args)


class PostNorm(PreNorm):
    def forward(self, x, *args):
        return nn.LayerNorm(x.shape[-1])(x + self.sublayer(x, *args))
