"""Helpers, a named tuple, and the root shared between queries and keys."""

from typing import NamedTuple

import torch
from torch import Tensor


class Attended(NamedTuple):
    output: Tensor
    weights: Tensor


def stable_softmax(x):
    x = x - x.max(dim=-1, keepdim=True).values
    e = x.exp()
    return e / e.sum(dim=-1, keepdim=True)


def hide(scores, mask):
    if mask is None:
        return scores
    bias = torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
    return scores + bias


def scaled_dot_product_attention(q, k, v, mask=None):
    root = q.shape[-1] ** 0.25
    weights = stable_softmax(hide((q / root) @ (k / root).transpose(-2, -1), mask))
    return Attended(weights @ v, weights)


def variance_of_product(sigma, mean):
    return sigma**4 + 2 * (sigma * mean) ** 2


def score_variance(d, sigma, mean=0.0):
    return sum(variance_of_product(sigma, mean) for _ in range(d))
