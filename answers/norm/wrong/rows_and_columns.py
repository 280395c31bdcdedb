"""numpy's habit: axis 0 is the one to reduce, whatever the shape."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(0, keepdim=True)
    s = ((x - m) ** 2).mean(0, keepdim=True)
    return (x - m) / (s + eps) ** 0.5 * gamma + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=1)
    var = x.var(dim=1, correction=0)
    x_hat = (x - mean[:, None]) / torch.sqrt(var[:, None] + eps)
    return gamma * x_hat + beta


def rms_norm(x, gamma, eps=1e-6):
    ms = x.pow(2).mean(0)
    return x * torch.rsqrt(ms + eps) * gamma


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = (x - mean).pow(2).mean(-1, keepdim=True)
    std = (var + eps).sqrt()
    x_hat = (x - mean) / std
    d_hat = grad * gamma
    dx = (d_hat - d_hat.mean(-1, keepdim=True) - x_hat * (d_hat * x_hat).mean(-1, keepdim=True)) / std
    dgamma = (grad * x_hat).sum(0)
    dbeta = grad.sum(0)
    return dx, dgamma, dbeta
