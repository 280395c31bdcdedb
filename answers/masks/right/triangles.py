"""torch's triangles, logical functions, multiplication by the mask."""

import torch


def causal_mask(n):
    return torch.tril(torch.ones((n, n), dtype=torch.bool))


def padding_mask(lengths, length):
    return torch.arange(length, device=lengths.device).expand(len(lengths), 1, length) < lengths.view(-1, 1, 1)


def combine_masks(*masks):
    real = [mask for mask in masks if mask is not None]
    if not real:
        return None
    return torch.stack(torch.broadcast_tensors(*real)).all(dim=0)


def masked_softmax(scores, mask):
    hidden = torch.logical_not(mask)
    highest = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).amax(-1, keepdim=True).detach()
    powers = scores.masked_fill(hidden, float("-inf")).sub(highest).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total)


def zero_padding(x, lengths):
    real = torch.arange(x.size(1), device=x.device)[None, :, None] < lengths[:, None, None]
    return x * real


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(query=decoder, key=memory, value=memory, mask=memory_mask)


def masked_mean(x, lengths):
    real = (torch.arange(x.size(1), device=x.device)[None, :, None] < lengths[:, None, None]).to(x.dtype)
    return (x * real).sum(1) / real.sum(1).clamp(min=1)
