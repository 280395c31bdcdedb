"""Computes in float32 and casts back, as much code for large models does."""

import torch
import torch.nn.functional as F


def masked_softmax(scores, mask):
    hidden = scores.float().masked_fill(~mask, -torch.inf)
    weights = F.softmax(hidden, dim=-1, dtype=torch.float32)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0).to(scores.dtype)


def zero_padding(x, lengths):
    real = torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None]
    return (x.float() * real.unsqueeze(-1).float()).type_as(x)


def masked_mean(x, lengths):
    real = (torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None]).unsqueeze(-1).float()
    return ((x.float() * real).sum(1) / real.sum(1).clamp(min=1e-9)).to(x.dtype)


def padding_mask(lengths, length):
    return torch.arange(length, device=lengths.device).float().view(1, 1, -1) < lengths.float().view(-1, 1, 1)
