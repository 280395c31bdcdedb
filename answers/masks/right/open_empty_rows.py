"""Opens an empty row before the softmax, and closes it afterwards."""

import torch


def masked_softmax(scores, mask):
    mask = mask.expand(scores.shape)
    something = mask.any(dim=-1, keepdim=True)
    filled = torch.where(mask | ~something, scores, torch.full_like(scores, -torch.inf))
    filled = torch.where(something, filled, torch.zeros_like(scores))
    filled = filled - filled.amax(dim=-1, keepdim=True)
    powers = filled.exp()
    return powers / powers.sum(dim=-1, keepdim=True) * something


def combine_masks(first=None, *rest):
    if not rest:
        return first
    others = combine_masks(*rest)
    if first is None or others is None:
        return others if first is None else first
    return first & others
