"""torch's own statistics, told to be biased."""

import torch
from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + eps) * gamma + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    d = x.shape[-1]
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    inverse = torch.rsqrt(variance + eps)
    hat = (x - mean) * inverse
    g = grad * gamma
    dx = inverse / d * (d * g - g.sum(-1, keepdim=True) - hat * (g * hat).sum(-1, keepdim=True))
    leading = tuple(range(x.ndim - 1))
    if leading:
        return dx, (grad * hat).sum(leading), grad.sum(leading)
    return dx, grad * hat, grad


def batch_norm(x, gamma, beta, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=0, unbiased=False)
    return torch.addcmul(beta, gamma, (x - mean) / (variance + eps) ** 0.5)


def rms_norm(x, gamma, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gamma


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *args):
        return self.sublayer(self.norm(x), *args) + x


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *args):
        total = self.sublayer(x, *args) + x
        return self.norm(total)
