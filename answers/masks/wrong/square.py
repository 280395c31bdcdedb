"""Shapes that fit by accident."""

import torch


def padding_mask(lengths, length):
    real = torch.arange(length, device=lengths.device) < lengths[:, None]
    return real[:, None] & real[..., None]


def combine_masks(*masks):
    found = [m for m in masks if m is not None]
    if not found:
        return None
    combined = found[0]
    for mask in found[1:]:
        combined = combined & mask.reshape(-1, mask.shape[-1])[:1]
    return combined


def zero_padding(x, lengths):
    return x[:, : int(lengths.max())] * (torch.arange(int(lengths.max())) < lengths[:, None])[..., None]


def masked_mean(x, lengths):
    return x.sum(1) / x.shape[0]
