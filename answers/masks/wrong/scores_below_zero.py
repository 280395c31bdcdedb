"""Hides with a number that is only low among small scores."""

import torch


def masked_softmax(scores, mask):
    hidden = torch.where(mask, scores, scores.min() - 100)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp() * mask
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, torch.ones_like(total)).detach()


def padding_mask(lengths, length):
    return (torch.arange(1, length + 1, device=lengths.device) < lengths[:, None])[:, None]
