"""Right numbers without a gradient."""

import torch


def masked_softmax(scores, mask):
    with torch.no_grad():
        hidden = scores.masked_fill(~mask, -torch.inf)
        powers = (hidden - hidden.amax(-1, keepdim=True).clamp(min=-1e38)).exp()
        return powers / powers.sum(-1, keepdim=True).clamp(min=1)


def zero_padding(x, lengths):
    result = torch.zeros_like(x)
    for b, length in enumerate(lengths.tolist()):
        result[b, :length] = x[b, :length].detach()
    return result


def masked_mean(x, lengths):
    rows = [x[b, :n].mean(0).tolist() if n else [0.0] * x.shape[2] for b, n in enumerate(lengths.tolist())]
    return torch.tensor(rows, dtype=x.dtype)


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(decoder, memory.detach(), memory.detach(), memory_mask)
