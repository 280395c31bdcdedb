"""A sum where the mean belongs: the Euclidean length instead of the root mean square."""

import torch


def rms_norm(x, gamma, eps=1e-6):
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return gamma * x / (length + eps)


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    return gamma * centred / torch.sqrt((centred * centred).sum(dim=-1, keepdim=True) + eps) + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(dim=0)
    power = torch.einsum("bd,bd->d", centred, centred)
    return torch.einsum("bd,d->bd", centred / (power + eps).sqrt(), gamma) + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    rstd = 1 / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + eps)
    h = (x - mean) * rstd
    dh = grad * gamma
    dx = rstd * (dh - dh.sum(-1, keepdim=True) - h * (dh * h).sum(-1, keepdim=True))
    n = x.shape[-1]
    return dx, (grad * h).reshape(-1, n).sum(0), grad.reshape(-1, n).sum(0)
