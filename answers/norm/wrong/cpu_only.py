"""Makes its own tensors on the CPU."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    floor = torch.full((x.shape[-1],), eps, dtype=x.dtype)
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + floor).sqrt() + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    centred = (torch.eye(len(x), dtype=x.dtype) - 1 / len(x)) @ x
    return gamma * centred / (centred.square().mean(0) + eps).sqrt() + beta
