"""Who asks and who answers, rows and columns, first and second are exchanged."""

import torch
from torch import Tensor


def causal_mask(n: int) -> Tensor:
    query = torch.arange(n)
    key = torch.arange(n)
    return key[:, None] <= query[None, :]


def padding_mask(lengths: Tensor, length: int) -> Tensor:
    mask = torch.arange(length, device=lengths.device)[:, None] < lengths[None, :]
    return mask.unsqueeze(1)


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    kept = [mask for mask in masks if mask is not None]
    if kept:
        result = torch.ones_like(kept[0])
        for mask in kept:
            result = result == mask
        return result
    return None


def zero_padding(x: Tensor, lengths: Tensor) -> Tensor:
    keep = torch.arange(x.shape[2], device=x.device)[None, None, :] < lengths[:, None, None]
    return x * keep


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(query=decoder, key=memory, value=decoder, mask=memory_mask)


def masked_mean(x: Tensor, lengths: Tensor) -> Tensor:
    keep = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
    total = torch.einsum("bsd,bs->bd", x, keep.to(x.dtype))
    return total / keep.sum(dim=0).clamp(min=1)[:1].unsqueeze(-1)
