"""Makes its own tensors on the CPU."""

import torch


def padding_mask(lengths, length):
    return (torch.arange(length) < lengths[:, None])[:, None]


def zero_padding(x, lengths):
    return x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]


def masked_mean(x, lengths):
    return (x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]).sum(1) / lengths.clamp(min=1)[:, None]
