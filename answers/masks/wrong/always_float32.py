"""Gives float32 whatever came in."""

import torch


def masked_softmax(scores, mask):
    hidden = scores.float().masked_fill(~mask, -torch.inf)
    powers = (hidden - hidden.amax(-1, keepdim=True).clamp(min=-3e38)).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1)


def zero_padding(x, lengths):
    real = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).float()
    return x * real[..., None]


def masked_mean(x, lengths):
    real = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).float()
    return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
