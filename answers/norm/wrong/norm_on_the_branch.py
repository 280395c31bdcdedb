"""The sublayer's result is normed, before it is added (sandwich, or ResiDual by halves)."""

from torch import nn


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        residual = x
        y = self.sublayer(x, *args)
        y = self.norm(y)
        return residual + y


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return x + self.norm(self.sublayer(x, *args))
