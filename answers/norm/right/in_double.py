"""Computes in float64 inside and gives back what came in."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5, *, precise=torch.float64):
    wide = x.to(precise)
    wide = wide - wide.mean(-1, keepdim=True)
    wide = wide / (wide.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return (wide * gamma.to(precise) + beta.to(precise)).to(x.dtype)


def batch_norm(x, gamma, beta, eps=1e-5):
    return layer_norm(x.T, torch.ones_like(x[:, 0]), torch.zeros_like(x[:, 0]), eps).T * gamma + beta


def rms_norm(x, gamma, eps=1e-6):
    size = torch.linalg.vector_norm(x.double(), dim=-1, keepdim=True) ** 2 / x.size(-1)
    return (gamma.double() * x.double() / torch.sqrt(size + eps)).to(x.dtype)
