"""The batch dimension taken for the sequence, or every sequence like the first."""

import torch


def causal_mask(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[: i + 1, i] = True
    return mask


def padding_mask(lengths, length):
    batch = lengths.shape[0]
    mask = torch.zeros(batch, length, length, dtype=torch.bool, device=lengths.device)
    for b in range(batch):
        mask[b, :, : lengths[b]] = True
    return mask


def combine_masks(*masks):
    present = [m for m in masks if m is not None]
    if not present:
        return None
    shape = present[0].shape
    result = present[0]
    for m in present[1:]:
        result = result & m.expand(shape)
    return result


def zero_padding(x, lengths):
    x = x.clone()
    x[:, lengths.max() :, :] = 0
    return x


def cross_attention(decoder, memory, attend, memory_mask=None):
    outputs = []
    for t in range(decoder.shape[-2]):
        outputs.append(attend(decoder[..., t : t + 1, :], memory, memory, memory_mask))
    return torch.cat(outputs, dim=-1)


def masked_mean(x, lengths):
    keep = torch.arange(x.shape[1], device=x.device)[:, None] < lengths[None, :]
    weights = keep.to(x.dtype).T.unsqueeze(-1)
    return (x * weights).sum(dim=1) / x.shape[1]
