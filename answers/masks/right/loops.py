"""Everything one entry at a time."""

import torch


def causal_mask(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


def padding_mask(lengths, length):
    rows = [[[j < one for j in range(length)]] for one in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)


def combine_masks(*masks):
    result = None
    for mask in masks:
        if mask is None:
            continue
        if result is None:
            result = mask.clone()
        else:
            result = torch.logical_and(result, mask)
    return result


def masked_softmax(scores, mask):
    width = scores.shape[-1]
    rows = []
    allowed = mask.expand(scores.shape).reshape(-1, width)
    for row, may in zip(scores.reshape(-1, width), allowed, strict=True):
        powers = [torch.zeros_like(row[0])] * width
        seen = [j for j in range(width) if may[j]]
        if seen:
            highest = max(row[j].item() for j in seen)
            for j in seen:
                powers[j] = torch.exp(row[j] - highest)
            total = sum(powers)
            powers = [power / total for power in powers]
        rows.append(torch.stack(powers))
    return torch.stack(rows).reshape(scores.shape)


def zero_padding(x, lengths):
    sequences = []
    for sequence, length in zip(x, lengths.tolist(), strict=True):
        sequences.append(torch.cat([sequence[:length], torch.zeros_like(sequence[length:])]))
    return torch.stack(sequences)


def masked_mean(x, lengths):
    means = []
    for sequence, length in zip(x, lengths.tolist(), strict=True):
        means.append(sequence[:length].mean(0) if length else torch.zeros_like(sequence[0]))
    return torch.stack(means)
