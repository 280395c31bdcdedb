"""Reads the sequence from the wrong end."""

import torch


def causal_mask(n):
    return torch.ones(n, n).tril().bool().flip(1)


def padding_mask(lengths, length):
    return (torch.arange(length, device=lengths.device) >= length - lengths[:, None])[:, None]


def zero_padding(x, lengths):
    positions = torch.arange(x.shape[1], device=x.device)
    return x * (positions >= (x.shape[1] - lengths)[:, None])[..., None]


def masked_mean(x, lengths):
    positions = torch.arange(x.shape[1], device=x.device)
    real = positions >= (x.shape[1] - lengths)[:, None]
    return (x * real[..., None]).sum(1) / lengths.clamp(min=1)[:, None]
