"""The deviation is rooted once more; the gain has 1 added to it; sums over the first dimension only."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    deviation = x.std(-1, keepdim=True, unbiased=False)
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(deviation + eps) * gamma + beta


def rms_norm(x, gamma, eps=1e-6):
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * (1.0 + gamma.float())).type_as(x)


def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(dim=0)) / x.std(dim=0, unbiased=False) + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    back = torch.func.vjp(forward, x, gamma, torch.zeros_like(gamma))[1]
    return back(grad)


def forward(x, gamma, beta):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + beta
