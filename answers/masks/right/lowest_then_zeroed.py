"""Hides with the lowest number there is, and zeroes the hidden weights as well: right in closed rows, too."""

import torch


def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0)


def zero_padding(x, lengths):
    beyond = torch.arange(x.size(1), device=x.device).unsqueeze(0).ge(lengths.unsqueeze(1))
    return torch.where(beyond[:, :, None], 0, x)


def masked_mean(x, lengths):
    sums = torch.where(torch.arange(x.size(1), device=x.device)[:, None] < lengths[:, None, None], x, 0).sum(1)
    return sums / torch.where(lengths == 0, 1, lengths)[:, None]
