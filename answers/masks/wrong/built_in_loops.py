"""Loops with a range that is too short, or a variable of the round before."""

import torch


def causal_mask(n):
    mask = torch.zeros((n, n), dtype=torch.bool)
    for i in range(n):
        for j in range(n - 1):
            if j <= i:
                mask[i][j] = True
    return mask


def padding_mask(lengths, length):
    rows = []
    row = [False] * length
    for n in lengths.tolist():
        for i in range(n):
            row[i] = True
        rows.append([list(row)])
    return torch.tensor(rows, dtype=torch.bool).reshape(-1, 1, length)


def combine_masks(*masks):
    result = None
    for mask in masks:
        if mask is None:
            result = None
        elif result is None:
            result = mask
        else:
            result = result & mask
    return result


def zero_padding(x, lengths):
    result = torch.zeros_like(x)
    for b in range(x.shape[0]):
        n = int(lengths[0])
        result[b, :n] = x[b, :n]
    return result


def cross_attention(decoder, memory, attend, memory_mask=None):
    output = decoder
    for _ in range(2):
        output = attend(output, memory, memory, memory_mask)
    return output


def masked_mean(x, lengths):
    means = []
    for sequence, n in zip(x, lengths, strict=True):
        total = torch.zeros_like(sequence[0])
        for i in range(1, int(n)):
            total = total + sequence[i]
        means.append(total / max(int(n), 1))
    return torch.stack(means)
