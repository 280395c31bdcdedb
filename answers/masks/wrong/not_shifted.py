"""Exponentials of the scores as they are; what is hidden is hidden before."""

import torch


def masked_softmax(scores, mask):
    powers = torch.exp(torch.where(mask, scores, torch.full_like(scores, -torch.inf)))
    return powers / (powers.sum(dim=-1, keepdim=True) + 1e-9)


def masked_mean(x, lengths):
    total = (x * (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None]).sum(1)
    return total / lengths[:, None]
