"""Results that are views, transposed or expanded, and decorated functions."""

import functools
import math

import torch

CALLED = []


def said(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        CALLED.append(function.__name__)
        return function(*args, **kwargs)

    return inner


@said
def sinusoidal_positions(length, d_model, base=10000.0):
    i = torch.arange(d_model).reshape(-1, 1)
    angles = torch.arange(length) * base ** (-(i - i % 2) / d_model)
    return torch.where(i % 2 == 1, angles.cos(), angles.sin()).T


@said
def rotate(x, positions, base=10000.0):
    pairs = torch.arange(x.shape[-1], device=x.device) // 2
    theta = positions[:, None] * torch.pow(base, -2.0 * pairs / x.shape[-1])
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return (x * theta.cos() + partner * theta.sin()).to(x.dtype)


@said
def relative_scores(q, k, table):
    m = table.shape[0] // 2
    both = torch.cat([k, table.expand(*k.shape[:-2], -1, -1)], dim=-2)
    scores = q @ both.mT
    content, distance = scores.split([k.shape[-2], table.shape[0]], dim=-1)
    i = torch.arange(q.shape[-2], device=q.device)
    j = torch.arange(k.shape[-2], device=q.device)
    rows = torch.minimum(torch.maximum(i[:, None] - j, torch.tensor(-m)), torch.tensor(m)) + m
    return content + torch.take_along_dim(distance, rows.expand_as(content), dim=-1)


@said
def alibi_bias(n_heads, length):
    slopes = torch.logspace(-8 / n_heads, -8, n_heads, base=2.0)
    steps = torch.arange(length)
    bias = (steps.view(1, -1) - steps.view(-1, 1)).to(slopes.dtype).expand(n_heads, -1, -1) * slopes.view(-1, 1, 1)
    bias[:, *torch.triu_indices(length, length, 1)] = -math.inf
    return bias.transpose(0, 1).contiguous().transpose(0, 1)
