"""The right parts in the wrong order."""

from torch import nn


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    sigma = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    unit, pull = centred / sigma, grad * gamma
    dx = (pull - pull.mean(-1, keepdim=True) - unit * (pull * unit).mean(-1, keepdim=True)) / sigma
    return dx, grad.reshape(-1, len(gamma)).sum(0), (grad * unit).reshape(-1, len(gamma)).sum(0)


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return beta * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + gamma


def batch_norm(x, gamma, beta, eps=1e-5):
    x = gamma * x + beta
    centred = x - x.mean(0)
    return centred / (centred.square().mean(0) + eps).sqrt()


def rms_norm(x, gamma, eps=1e-6):
    x = gamma * x
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return self.norm(x) + self.sublayer(x, *args)


class PostNorm(PreNorm):
    def forward(self, x, *args):
        return self.norm(x) + self.norm(self.sublayer(x, *args))
