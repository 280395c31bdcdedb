"""Statistics in float32, whatever came in, and the result cast back: as most large models have it."""

import functools

import torch
from torch import nn


def layer_norm(x, gamma, beta, eps=1e-5):
    wide = x.float()
    wide = wide - wide.mean(-1, keepdim=True)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * gamma.float() + beta.float()).type_as(x)


def batch_norm(x, gamma, beta, eps=1e-5):
    return layer_norm(x.T, torch.ones_like(x[:, 0]), torch.zeros_like(x[:, 0]), eps).T * gamma + beta


def rms_norm(x, gamma, eps=1e-6):
    wide = x.to(torch.float32)
    return gamma * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


@torch.no_grad()
def layer_norm_backward(grad, x, gamma, eps=1e-5):
    wide, pull = x.float() - x.float().mean(-1, keepdim=True), (grad * gamma).float()
    inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    hat = wide * inverse
    dx = inverse * (pull - pull.mean(-1, keepdim=True) - hat * (pull * hat).mean(-1, keepdim=True))
    total = functools.partial(torch.einsum, "...d->d")
    return dx.type_as(x), total(grad.float() * hat).type_as(gamma), total(grad)


class InFloat32(nn.LayerNorm):
    def forward(self, x):
        weight, bias = self.weight.float(), self.bias.float()
        return nn.functional.layer_norm(x.float(), self.normalized_shape, weight, bias, self.eps).to(x.dtype)


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = InFloat32(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        return torch.add(x, self.sublayer(self.norm(x), *args))


class PostNorm(PreNorm):
    def forward(self, x, *args):
        return self.norm(x + self.sublayer(x, *args))
