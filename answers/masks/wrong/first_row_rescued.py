"""A strict mask whose first row is opened by hand."""

import torch


def causal_mask(n):
    mask = torch.ones(n, n).tril(-1).bool()
    if n:
        mask[0, 0] = True
    return mask


def masked_softmax(scores, mask):
    mask = mask.expand(scores.shape).clone()
    mask[..., 0] |= ~mask.any(-1)
    hidden = scores.masked_fill(~mask, -torch.inf)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)
