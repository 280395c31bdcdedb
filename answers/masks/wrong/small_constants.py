"""Almost: a small constant too many."""

import torch


def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    powers = (hidden - hidden.amax(-1, keepdim=True).clamp(min=-1e30)).exp()
    return powers / (powers.sum(-1, keepdim=True) + 1e-3)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x * real[..., None]).sum(1) / (lengths + 1e-2)[:, None].to(x.dtype)


def zero_padding(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return torch.where(real[..., None], x, torch.full_like(x, 1e-3))
