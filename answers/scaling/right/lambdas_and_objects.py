"""A lambda, a decorated function, a callable object, a module."""

import functools
import math

import torch
from torch import nn


def noisy(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print("called", function.__name__)
        return function(*args, **kwargs)

    return wrapper


score_variance = lambda d, sigma, mean=0.0: d * (sigma**4 + 2 * mean**2 * sigma**2)  # noqa: E731


@noisy
def softmax_jacobian(p):
    return torch.diag_embed(p) - p.unsqueeze(-1).mul(p.unsqueeze(-2))


class Entropy:
    def __call__(self, weights):
        logs = torch.where(weights == 0, torch.zeros_like(weights), weights.log())
        return (weights * logs).sum(-1).neg()


attention_entropy = Entropy()


class Attention(nn.Module):
    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores[~mask.expand_as(scores)] = -math.inf
        weights = nn.Softmax(dim=-1)(scores)
        return weights @ v, weights


scaled_dot_product_attention = Attention()
