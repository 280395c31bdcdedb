"""Projections written as matrices and einsums; the Jacobian in full."""

import torch
from torch import nn


def centring(d, like):
    return torch.eye(d, dtype=like.dtype, device=like.device) - 1 / d


def layer_norm(x, gamma, beta, eps=1e-5):
    d = x.shape[-1]
    centred = x @ centring(d, x)
    sigma = (torch.einsum("...i,...i->...", centred, centred) / d + eps).sqrt()
    return torch.einsum("i,...i,...->...i", gamma, centred, 1 / sigma) + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    d = x.shape[-1]
    centred = x - x.mean(-1, keepdim=True)
    sigma = ((centred * centred).mean(-1) + eps).sqrt()
    unit = centred / sigma[..., None]
    jacobian = (centring(d, x) - unit[..., :, None] * unit[..., None, :] / d) / sigma[..., None, None]
    dx = torch.einsum("...i,...ij->...j", grad * gamma, jacobian)
    flat, units = grad.reshape(-1, d), unit.reshape(-1, d)
    return dx, torch.einsum("nd,nd->d", flat, units), torch.einsum("nd->d", flat)


def batch_norm(x, gamma, beta, eps=1e-5):
    n = x.shape[0]
    centred = centring(n, x) @ x
    return gamma * centred / (torch.einsum("nd,nd->d", centred, centred) / n + eps).sqrt() + beta


rms_norm = lambda x, gamma, eps=1e-6: (  # noqa: E731
    gamma * x / (torch.einsum("...d,...d->...", x, x) / x.shape[-1] + eps)[..., None].sqrt()
)


class Block(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer


class PreNorm(Block):
    def forward(self, x, *args, **more):
        answer = self.sublayer(self.norm(x), *args, **more)
        return torch.add(x, answer)


class PostNorm(Block):
    def forward(self, x, *args, **more):
        return self.norm(torch.add(self.sublayer(x, *args, **more), x))
