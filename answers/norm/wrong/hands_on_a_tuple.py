"""The further arguments arrive as one tuple, or change on the way."""

from torch import nn


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        normed = self.norm(x)
        return x + self.sublayer(normed, args)


class PostNorm(PreNorm):
    def forward(self, x, *args):
        return self.norm(x + self.sublayer(x, args))
