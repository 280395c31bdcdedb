"""A named tuple of gradients, helpers, and decorated functions."""

import functools
from typing import NamedTuple

import torch


class Gradients(NamedTuple):
    dx: torch.Tensor
    dgamma: torch.Tensor
    dbeta: torch.Tensor


def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def average(x):
    return x.mean(dim=-1, keepdim=True)


@noted
def layer_norm_backward(grad, x, gamma, eps=1e-5):
    deviation = (average((x - average(x)) ** 2) + eps) ** 0.5
    hat = (x - average(x)) / deviation
    dhat = grad * gamma
    dvariance = (dhat * (x - average(x))).sum(-1, keepdim=True) * -0.5 * deviation**-3
    dmean = -(dhat / deviation).sum(-1, keepdim=True)
    dx = dhat / deviation + dvariance * 2 * (x - average(x)) / x.shape[-1] + dmean / x.shape[-1]
    return Gradients(
        dx, (grad * hat).flatten(0, -2).sum(0) if x.ndim > 1 else grad * hat, grad.reshape(-1, len(gamma)).sum(0)
    )


@noted
def layer_norm(x, gamma, beta, eps=1e-5):
    return torch.lerp(beta, beta + gamma, (x - average(x)) / (average((x - average(x)) ** 2) + eps) ** 0.5)


@noted
def rms_norm(x, gamma, eps=1e-6):
    return torch.multiply(gamma, torch.divide(x, torch.sqrt(average(x * x) + eps)))
