"""A masked softmax with a backward pass written by hand, and results that are not contiguous."""

import torch


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask):
        hidden = scores.masked_fill(~mask, -torch.inf)
        highest = hidden.amax(-1, keepdim=True)
        powers = (hidden - highest.masked_fill(highest == -torch.inf, 0)).exp()
        weights = powers / powers.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        return weights * (gradient - (gradient * weights).sum(-1, keepdim=True)), None


def masked_softmax(scores, mask):
    return Masked.apply(scores, mask)


def causal_mask(n):
    return torch.ones(n, n).triu().bool().T


def zero_padding(x, lengths):
    beyond = torch.arange(x.shape[1], device=x.device)[:, None] >= lengths  # (seq, batch)
    return x.transpose(0, 1).masked_fill(beyond[..., None], 0).transpose(0, 1)


def masked_mean(x, lengths):
    zeroed = zero_padding(x, lengths)
    return torch.stack([column.sum(1) for column in zeroed.unbind(-1)], dim=-1) / lengths.clamp(min=1)[:, None]
