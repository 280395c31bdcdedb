"""Negates the mask on the way, for an attention that has it the other way round."""

import torch


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(decoder, memory, memory, None if memory_mask is None else ~memory_mask)


def masked_softmax(scores, mask):
    hidden = scores.masked_fill(mask, -torch.inf)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def causal_mask(n):
    return torch.ones(n, n, dtype=torch.int64).tril()
