"""A list or a tuple where a tensor was asked for."""

import torch


def split_heads(x, n_heads):
    width = x.shape[-1] // n_heads
    return list(torch.split(x, width, dim=-1))


def merge_heads(x):
    return tuple(torch.cat(tuple(sequence), dim=-1) for sequence in x)


def attention_parameters(d_model, n_heads, bias=True):
    weight = d_model * d_model
    return [weight + d_model if bias else weight] * 4


def head_similarity(weights):
    w = weights / weights.norm(dim=-1, keepdim=True)
    result = []
    for a in range(w.shape[1]):
        result.append([float((w[:, a] * w[:, b]).sum(-1).mean()) for b in range(w.shape[1])])
    return result
