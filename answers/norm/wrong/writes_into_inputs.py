"""Centres the caller's own tensor."""

from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    x -= x.mean(-1, keepdim=True)
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return gamma * x + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    x -= x.mean(0)
    return gamma * x / (x.square().mean(0) + eps).sqrt() + beta


def rms_norm(x, gamma, eps=1e-6):
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return x * gamma


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    sigma = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    unit = centred / sigma
    dgamma, dbeta = (grad * unit).reshape(-1, len(gamma)).sum(0), grad.reshape(-1, len(gamma)).sum(0)
    grad *= gamma
    return (grad - grad.mean(-1, keepdim=True) - unit * (grad * unit).mean(-1, keepdim=True)) / sigma, dgamma, dbeta


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        x += self.sublayer(self.norm(x), *args)
        return x


class PostNorm(PreNorm):
    def forward(self, x, *args):
        x += self.sublayer(x, *args)
        return self.norm(x)
