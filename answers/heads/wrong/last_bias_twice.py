"""Counted with a bias only in some, compared only within one batch entry."""

import torch


def split_heads(x, n_heads):
    b, n, d = x.shape
    heads = x.transpose(1, 2).reshape(b, n_heads, d // n_heads, n)
    return heads


def merge_heads(x):
    b, h, n, d = x.shape
    out = torch.empty(b, n, h * d, dtype=x.dtype, device=x.device)
    for i in range(h):
        out[:, :, i::h] = x[:, i]
    return out


def attention_parameters(d_model, n_heads, bias=False):
    weights = 4 * d_model * d_model
    return weights + 4 * d_model if bias else weights


def head_similarity(weights):
    total = 0
    for entry in weights[:1]:
        unit = entry / entry.norm(dim=-1, keepdim=True)
        total = total + torch.einsum("hqk,gqk->hg", unit, unit)
    return total / weights.shape[2]
