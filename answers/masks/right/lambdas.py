"""Lambdas, objects that can be called, extra keyword defaults."""

import functools

import torch

causal_mask = lambda n, offset=0: torch.ones(n, n, dtype=torch.bool).tril(offset)  # noqa: E731
padding_mask = lambda lengths, length, *, dim=1: (  # noqa: E731
    torch.arange(length, device=lengths.device)[None] < lengths[:, None]
).unsqueeze(dim)


class Combiner:
    def __call__(self, *masks):
        found = [m for m in masks if m is not None]
        return functools.reduce(torch.logical_and, found) if found else None


combine_masks = Combiner()


def _hide(scores, mask, fill=-float("inf")):
    return torch.where(mask, scores, torch.full((), fill, dtype=scores.dtype, device=scores.device))


def masked_softmax(scores, mask, eps=None):
    hidden = _hide(scores, mask)
    logs = hidden.logsumexp(dim=-1, keepdim=True)
    logs = torch.where(mask.any(-1, keepdim=True), logs, torch.zeros_like(logs))
    return torch.exp(hidden - logs)


zero_padding = lambda x, lengths: torch.where(  # noqa: E731
    padding_mask(lengths, x.shape[1]).mT, x, torch.zeros((), dtype=x.dtype, device=x.device)
)


def cross_attention(decoder, memory, attend, memory_mask=None, **unused):
    question, *answers = decoder, memory, memory
    return attend(question, *answers, mask=memory_mask)


masked_mean = lambda x, lengths: zero_padding(x, lengths).sum(-2) / lengths.clamp_min(1).unsqueeze(-1)  # noqa: E731
