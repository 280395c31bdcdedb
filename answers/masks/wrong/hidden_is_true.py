"""True means "hidden", as in another library."""

import torch


def causal_mask(n):
    return torch.triu(torch.ones(n, n), diagonal=1).bool()


def padding_mask(lengths, length):
    index = torch.arange(length, device=lengths.device).view(1, 1, -1)
    return index >= lengths.view(-1, 1, 1)


def combine_masks(*masks):
    out = None
    for m in masks:
        if m is not None:
            out = m if out is None else torch.logical_or(out, m)
    return out


def zero_padding(x, lengths):
    padded = torch.arange(x.size(1), device=x.device)[None, :] >= lengths[:, None]
    return x.masked_fill(~padded.unsqueeze(-1), 0.0)


def cross_attention(decoder, memory, attend, memory_mask=None):
    hidden = None if memory_mask is None else torch.logical_not(memory_mask)
    return attend(decoder, memory, memory, hidden)


def masked_mean(x, lengths):
    seq = x.size(1)
    padding = torch.arange(seq, device=x.device).expand(x.size(0), seq) >= lengths.unsqueeze(1)
    summed = (x * padding.unsqueeze(-1)).sum(dim=1)
    count = padding.sum(dim=1, keepdim=True).clamp(min=1)
    return summed / count
