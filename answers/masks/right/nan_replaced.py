"""Lets the NaN of an empty row happen and replaces it; `masked_fill` passes no gradient to what it covers."""

import math

import torch


def masked_softmax(scores, mask):
    scores = scores.masked_fill(~mask, -math.inf)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return torch.nan_to_num(powers / powers.sum(-1, keepdim=True), nan=0.0)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    shares = torch.nan_to_num(real.to(x.dtype) / lengths[:, None], nan=0.0)
    return (shares[:, None] @ x).squeeze(1)
