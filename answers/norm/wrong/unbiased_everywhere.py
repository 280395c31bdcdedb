"""torch.std and torch.var divide by n - 1 unless told otherwise."""

import torch
from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    mu = torch.mean(x, dim=-1, keepdim=True)
    sigma = torch.sqrt(torch.var(x, dim=-1, keepdim=True) + eps)
    x_hat = (x - mu) / sigma
    return x_hat * gamma + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    d = x.shape[-1]
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True)
    inv = torch.rsqrt(var + eps)
    xhat = (x - mu) * inv
    g = grad * gamma
    dx = inv / d * (d * g - g.sum(-1, keepdim=True) - xhat * (g * xhat).sum(-1, keepdim=True))
    leading = tuple(range(x.dim() - 1))
    if not leading:
        return dx, grad * xhat, grad.clone()
    return dx, (grad * xhat).sum(leading), grad.sum(leading)


def batch_norm(x, gamma, beta, eps=1e-5):
    n = x.size(0)
    mean = x.sum(0) / n
    var = ((x - mean) ** 2).sum(0) / max(n - 1, 1)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        normed = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.norm.eps)
        normed = normed * self.norm.weight + self.norm.bias
        return x + self.sublayer(normed, *args)
