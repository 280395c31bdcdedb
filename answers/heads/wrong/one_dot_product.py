"""The cosine without its norms, or with other ones; the output projection forgotten."""

import torch


def split_heads(x, n_heads):
    b, s, d = x.shape
    return x.reshape(b * n_heads, s, d // n_heads)


def merge_heads(x):
    return x.reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model // n_heads
    projection = d_model * d_head + (d_head if bias else 0)
    return 3 * n_heads * projection


def head_similarity(weights):
    b, _, q, _ = weights.shape
    dots = torch.einsum("bhqk,bgqk->hg", weights, weights)
    return dots / (b * q)
