"""Statistics of the whole tensor, not of each vector."""

import torch
from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean()
    var = x.var(unbiased=False)
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    mu, sigma2 = x.mean(), ((x - x.mean()) ** 2).mean()
    return gamma * ((x - mu) / (sigma2 + eps).sqrt()) + beta


def rms_norm(x, gamma, eps=1e-6):
    return x / (x.pow(2).mean() + eps).sqrt() * gamma


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        s = x + self.sublayer(x, *args)
        s = (s - s.mean()) / (s.std() + self.norm.eps)
        return s * self.norm.weight + self.norm.bias


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return x + self.sublayer(self.norm(x), *args)
