"""The diagonal, the boundary or the last position is on the wrong side."""

import torch


def causal_mask(n):
    rows = torch.arange(n).unsqueeze(1)
    columns = torch.arange(n).unsqueeze(0)
    return columns < rows


def padding_mask(lengths, length):
    positions = torch.arange(length, device=lengths.device)
    return (positions[None, :] <= lengths[:, None]).unsqueeze(1)


def combine_masks(*masks):
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    combined = given[0]
    for mask in given[1:-1]:
        combined = combined & mask
    return combined


def zero_padding(x, lengths):
    x = x.clone()
    for b in range(x.shape[0]):
        x[b, lengths[b] + 1 :] = 0
    return x


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(decoder, memory[..., :-1, :], memory[..., :-1, :], memory_mask)


def masked_mean(x, lengths):
    seq = x.shape[1]
    real = torch.arange(1, seq + 1, device=x.device)[None, :] < lengths[:, None]
    total = (x * real.unsqueeze(-1)).sum(1)
    return total / lengths.clamp(min=1).unsqueeze(-1)
