"""Weighs along another dimension, or counts dimensions from the front."""

import torch


def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-2).nan_to_num(0.0)


def zero_padding(x, lengths):
    return x * (torch.arange(x.shape[1], device=x.device) < lengths[0])[:, None]


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x * real[..., None]).sum(1) / lengths.clamp(min=1)[:, None].sqrt().to(x.dtype)
