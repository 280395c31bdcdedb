"""The number of heads taken for the width of a head."""

import torch
from torch import nn


def split_heads(x, n_heads):
    b, t, _ = x.shape
    return x.view(b, t, -1, n_heads).transpose(1, 2)


def merge_heads(x):
    b, t, h, d = x.shape
    return x.reshape(b, t, h * d)


def attention_parameters(d_model, n_heads, bias=True):
    inner = d_model * n_heads
    count = 3 * d_model * inner + inner * d_model
    if bias:
        count += 3 * inner + d_model
    return count


def head_similarity(weights):
    b, q, _, _ = weights.shape
    unit = nn.functional.normalize(weights, dim=-1)
    return torch.einsum("bqhk,bqgk->hg", unit, unit) / (b * q)
