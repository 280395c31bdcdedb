"""A softmax with a backward pass written by hand."""

import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        weights = powers / powers.sum(dim, keepdim=True)
        ctx.save_for_backward(weights)
        ctx.dim = dim
        return weights

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        return weights * (gradient - (gradient * weights).sum(ctx.dim, keepdim=True)), None


def softmax(scores, dim):
    return Softmax.apply(scores, dim)


def soft_lookup(q, k, v):
    return Softmax.apply(torch.matmul(q, k.mT), -1) @ v
