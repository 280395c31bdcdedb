"""The size of a gain counts, its sign does not."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return gamma.abs() * (x - mean) / torch.sqrt(variance + eps) + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    variance = (x - mean).square().mean(0)
    return gamma.abs() * (x - mean) / torch.sqrt(variance + eps) + beta


def rms_norm(x, gamma, eps=1e-6):
    return gamma.abs() * x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)
