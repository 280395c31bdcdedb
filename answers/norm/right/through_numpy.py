"""The way back in numpy, in a named tuple; norms as objects and partial functions, or from the exercise before."""

import functools
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F


class Gradients(NamedTuple):
    dx: torch.Tensor
    dgamma: torch.Tensor
    dbeta: torch.Tensor


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    dout, values, gain = (t.detach().cpu().numpy().astype(np.float64) for t in (grad, x, gamma))
    centred = values - values.mean(-1, keepdims=True)
    sigma = np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    hat, pull = centred / sigma, dout * gain
    dx = (pull - pull.mean(-1, keepdims=True) - hat * (pull * hat).mean(-1, keepdims=True)) / sigma
    leading = tuple(range(values.ndim - 1))
    found = dx, (dout * hat).sum(leading), dout.sum(leading)
    return Gradients(*(torch.from_numpy(np.asarray(g)).to(x.dtype) for g in found))


class Centred:
    def __init__(self, over):
        self.over = over

    def __call__(self, x, gamma, beta, eps=1e-5):
        rest = x - x.mean(self.over, keepdim=True)
        return torch.addcmul(beta, rest * torch.rsqrt(rest.pow(2).mean(self.over, keepdim=True) + eps), gamma)


layer_norm = Centred(-1)


def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * F.layer_norm(x.T, (len(x),), eps=eps).T + beta


def root_mean_square(x, gamma, eps=1e-6, *, power):
    return x * gamma / (x.pow(power).mean(-1, keepdim=True) + eps) ** (1 / power)


rms_norm = functools.partial(root_mean_square, power=2)
