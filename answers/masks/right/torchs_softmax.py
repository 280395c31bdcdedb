"""torch's softmax, which chapter 01 built; masks by comparison and outer products."""

import torch


def causal_mask(n):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return torch.le(j, i)


def padding_mask(lengths, length):
    real = torch.zeros(lengths.numel(), length, device=lengths.device)
    places = torch.arange(length, device=lengths.device).expand_as(real)
    return real.masked_fill(places < lengths.view(-1, 1), 1).bool().unsqueeze(-2)


def combine_masks(*masks):
    hidden = None
    for mask in masks:
        if mask is not None:
            hidden = ~mask if hidden is None else hidden | ~mask
    return None if hidden is None else ~hidden


def masked_softmax(scores, mask):
    return torch.nan_to_num(torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1), nan=0.0)


def zero_padding(x, lengths):
    zeroed = x.clone()
    for b, length in enumerate(lengths):
        zeroed[b, length:] = 0
    return zeroed


def cross_attention(decoder, memory, attend, memory_mask=None):
    arguments = {"mask": memory_mask, "value": memory, "key": memory, "query": decoder}
    return attend(**arguments)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    shares = real / lengths.clamp(min=1)[:, None]
    return torch.bmm(shares.to(x.dtype).unsqueeze(1), x).squeeze(1)
