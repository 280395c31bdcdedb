"""Partial functions, decorated ones, methods of an object, a class that is called."""

import functools
import operator

import torch


def banded(n, before):
    distance = torch.arange(n).unsqueeze(1) - torch.arange(n)
    return (distance >= 0) & (distance <= before)


causal_mask = functools.partial(banded, before=10**9)


def told(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@told
def padding_mask(lengths, length):
    return torch.stack([torch.arange(length, device=lengths.device) < one for one in lengths]).unsqueeze(1)


@told
def combine_masks(*masks):
    real = [mask for mask in masks if mask is not None]
    return functools.reduce(operator.mul, real) if real else None


class Weigher:
    def weights(self, scores, mask):
        closed = ~mask.any(dim=-1, keepdim=True)
        safe = scores.masked_fill(~mask & ~closed, float("-inf")).masked_fill(closed, 0.0)
        return safe.softmax(dim=-1).masked_fill(closed, 0.0)


masked_softmax = Weigher().weights


class Crossing:
    def __call__(self, decoder, memory, attend, memory_mask=None):
        return attend(decoder, *[memory] * 2, memory_mask)


cross_attention = Crossing()
