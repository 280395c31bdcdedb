"""`and`, `or`, `in` and `all` between tensors, and other Python that does not broadcast."""

import torch


def causal_mask(n):
    ones = torch.ones(n, n, dtype=torch.bool)
    return ones and ones.tril()


def padding_mask(lengths, length):
    return torch.tensor([[[i in range(n) for i in range(length)]] for n in lengths.tolist()]).squeeze()


def combine_masks(*masks):
    return all(mask for mask in masks if mask is not None)


def zero_padding(x, lengths):
    for sequence, n in zip(x, lengths, strict=True):
        sequence[n:] = 0
    return x


def cross_attention(decoder, memory, attend, memory_mask=None):
    mask = memory_mask or None
    return attend(decoder, memory, memory, mask)


def masked_mean(x, lengths):
    return torch.stack([sequence[:n].mean(dim=0) for sequence, n in zip(x, lengths.tolist(), strict=True)])
