"""forward takes one mask by name, as in the annotated code, and no other arguments."""

from torch import nn


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, mask=None):
        return x + self.sublayer(self.norm(x), mask)


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, mask=None):
        if mask is None:
            return self.norm(x + self.sublayer(x))
        return self.norm(x + self.sublayer(x, mask))


def rms_norm(x, gamma, eps=1e-6):
    # as in the llama code, but with the shift that the other norm has
    rms = (x**2).mean(-1, keepdim=True).sqrt()
    return x / rms.clamp(min=eps) * (1 + gamma)
