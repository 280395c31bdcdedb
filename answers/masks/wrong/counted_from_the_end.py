"""Padding assumed at the front, or the triangle from the other corner."""

import torch


def causal_mask(n):
    return torch.ones(n, n, dtype=torch.bool).tril().flip(0)


def padding_mask(lengths, length):
    from_the_end = torch.arange(length - 1, -1, -1, device=lengths.device)
    return (from_the_end < lengths.unsqueeze(-1)).unsqueeze(-2)


def combine_masks(*masks):
    *rest, last = [m for m in masks if m is not None] or [None]
    for mask in rest:
        last = last & mask
    return last if rest else None


def zero_padding(x, lengths):
    out = x.clone()
    for b, n in enumerate(lengths):
        out[b, :-n] = 0
    return out


def cross_attention(decoder, memory, attend, memory_mask=None):
    memory = memory.flip(-2)
    return attend(decoder, memory, memory, memory_mask)


def masked_mean(x, lengths):
    totals = x.cumsum(dim=1)
    last = totals[torch.arange(len(x), device=x.device), lengths - 1]
    return last / lengths.clamp(min=1).unsqueeze(-1)
