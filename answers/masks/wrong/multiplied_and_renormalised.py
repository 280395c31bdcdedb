"""Multiplies the scores by the mask, weighs, multiplies once more, and divides by what is left."""

import torch


def masked_softmax(scores, mask):
    factor = mask.to(scores.dtype)
    weights = torch.nn.functional.softmax(scores * factor, dim=-1) * factor
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-13)


def padding_mask(lengths, length):
    return (torch.arange(length, device=lengths.device)[None] < lengths[:, None]).unsqueeze(1).expand(-1, length, -1)
