"""Ones and zeros, floats or 0 and -inf in place of True and False."""

import torch


def causal_mask(n):
    return torch.tril(torch.ones(n, n))


def padding_mask(lengths, length):
    mask = torch.zeros(len(lengths), 1, length, device=lengths.device)
    for b, real in enumerate(lengths.tolist()):
        mask[b, :, real:] = float("-inf")
    return mask


def combine_masks(*masks):
    result = None
    for mask in masks:
        if mask is None:
            continue
        result = mask.int() if result is None else result * mask.int()
    return result


def zero_padding(x, lengths):
    keep = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).unsqueeze(-1)
    return (x * keep.double()).float()


def cross_attention(decoder, memory, attend, memory_mask=None):
    if memory_mask is not None:
        memory_mask = memory_mask.float()
    return attend(decoder, memory, memory, memory_mask)


def masked_mean(x, lengths):
    keep = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).unsqueeze(-1)
    mean = (x * keep).sum(1) // lengths.clamp(min=1).unsqueeze(-1)
    return mean
