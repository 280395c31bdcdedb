"""Only the first of *args is handed on, or they come as one tuple."""

from torch import nn


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        h = self.norm(x)
        if args:
            h = self.sublayer(h, args[0])
        else:
            h = self.sublayer(h)
        return x + h


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        y = self.sublayer(x, args)
        return self.norm(x + y)
