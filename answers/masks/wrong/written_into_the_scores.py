"""Writes -inf into the scores of the caller."""

import torch


def masked_softmax(scores, mask):
    scores.masked_fill_(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0)


def padding_mask(lengths, length):
    lengths -= 1
    return (torch.arange(length, device=lengths.device) <= lengths[:, None])[:, None]
