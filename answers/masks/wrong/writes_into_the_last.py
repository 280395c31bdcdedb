"""Writes into an argument where the shapes happen to fit; makes a length of 0 a 1 for everybody."""

import torch


def combine_masks(*masks):
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    last = given.pop()
    for mask in given:
        if torch.broadcast_shapes(mask.shape, last.shape) == last.shape:
            last &= mask
        else:
            last = last & mask
    return last


def masked_softmax(scores, mask):
    closed = ~mask.any(-1, keepdim=True)
    if mask.shape == scores.shape:
        mask |= closed
    else:
        mask = mask | closed
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(closed, 0)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x * real[..., None]).sum(1) / lengths.clamp_(min=1)[:, None]


def cross_attention(decoder, memory, attend, memory_mask=None):
    found = attend(decoder, memory, memory, memory_mask)
    if memory.shape == found.shape:
        memory.copy_(found)
    return found
