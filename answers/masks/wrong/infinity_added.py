"""Adds -inf: where nothing is allowed, NaN goes both ways."""

import torch


def masked_softmax(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    bias[~mask] = float("-inf")
    return torch.softmax(scores + bias, dim=-1)


def padding_mask(lengths, length):
    return (torch.arange(length, device=lengths.device) < lengths[:, None]).unsqueeze(1).int()
