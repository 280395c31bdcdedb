"""Results that are not contiguous, and modules that hold their parts in a list as well."""

from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    first = x.movedim(-1, 0)
    centred = first - first.mean(0)
    return (centred / centred.square().mean(0).add(eps).sqrt()).movedim(0, -1).mul(gamma).add(beta)


def batch_norm(x, gamma, beta, eps=1e-5):
    rows = x.t()
    centred = rows.sub(rows.mean(1, keepdim=True))
    scaled = centred.div(centred.pow(2).mean(1, keepdim=True).add(eps).sqrt())
    return scaled.mul(gamma[:, None]).add(beta[:, None]).t()


def rms_norm(x, gamma, eps=1e-6):
    first = x.movedim(-1, 0)
    return (first * (first.square().mean(0) + eps).rsqrt()).movedim(0, -1) * gamma


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def read(self, x):
        return self.norm(x)

    def forward(self, x, *args):
        stream = x.clone()
        stream = stream + self.sublayer(self.read(x), *args)
        return stream


class PostNorm(PreNorm):
    def forward(self, x, *args):
        out = x.clone()
        out += self.sublayer(x, *args)
        return self.norm(out)
