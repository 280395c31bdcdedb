"""Sums as einsum; positions counted by cumsum."""

import torch


def causal_mask(n):
    return torch.eye(n).cumsum(dim=1).T.bool()


def padding_mask(lengths, length):
    counted = torch.ones(len(lengths), 1, length, dtype=torch.int64, device=lengths.device).cumsum(dim=-1)
    return counted <= lengths[:, None, None]


def combine_masks(*masks):
    product = None
    for mask in filter(lambda m: m is not None, masks):
        product = mask if product is None else (product * mask).bool()
    return product


def zero_padding(x, lengths):
    real = torch.ones(x.shape[:2], device=x.device).cumsum(dim=1) <= lengths[:, None]
    return torch.einsum("bsd,bs->bsd", x, real.to(x.dtype))


def masked_mean(x, lengths):
    real = torch.ones(x.shape[:2], device=x.device).cumsum(dim=1) <= lengths[:, None]
    return torch.einsum("bsd,bs->bd", x, real.to(x.dtype)) / torch.maximum(lengths, torch.ones_like(lengths))[:, None]
