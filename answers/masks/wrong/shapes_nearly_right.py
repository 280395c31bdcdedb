"""A dimension is missing, or there is one too many."""

import torch


def causal_mask(n):
    return torch.ones(1, n, n, dtype=torch.bool).tril()


def padding_mask(lengths, length):
    return torch.arange(length, device=lengths.device) < lengths.unsqueeze(1)


def combine_masks(*masks):
    masks = [m for m in masks if m is not None]
    if len(masks) == 0:
        return None
    return torch.stack(torch.broadcast_tensors(*masks))


def zero_padding(x, lengths):
    return torch.cat([sequence[:n] for sequence, n in zip(x, lengths.tolist(), strict=True)])


def cross_attention(decoder, memory, attend, memory_mask=None):
    if memory_mask is not None:
        memory_mask = memory_mask.unsqueeze(1)
    return attend(decoder, memory, memory, memory_mask)


def masked_mean(x, lengths):
    keep = torch.arange(x.shape[1], device=x.device)[None, :, None] < lengths[:, None, None]
    total = torch.where(keep, x, torch.zeros_like(x)).sum(dim=1, keepdim=True)
    return total / lengths.clamp(min=1)[:, None, None]
