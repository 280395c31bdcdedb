"""Writes into what it was given."""

import torch


def combine_masks(*masks):
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined.__iand__(mask.expand_as(combined))
    return combined


def masked_softmax(scores, mask):
    with torch.no_grad():
        scores.masked_fill_(~mask, -torch.inf)
    highest = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    powers = (scores - highest).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1)


def zero_padding(x, lengths):
    for b, length in enumerate(lengths.tolist()):
        x[b, length:] = 0
    return x


def masked_mean(x, lengths):
    for b, length in enumerate(lengths.tolist()):
        x[b, length:] = 0
    return x.sum(1) / lengths.clamp(min=1)[:, None]
