"""Exponentials of scores as they are; a mask by multiplication."""

import torch


def masked_softmax(scores, mask):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x[real].mean(0).expand(x.shape[0], -1)
