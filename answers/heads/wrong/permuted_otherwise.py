"""The right sizes in another order."""

import torch


def split_heads(x, n_heads):
    b, n, d = x.size()
    x = x.reshape(b, n, n_heads, d // n_heads)
    return x.permute(2, 0, 1, 3)


def merge_heads(x):
    b, h, n, d = x.size()
    return x.permute(0, 2, 3, 1).contiguous().view(b, n, h * d)


def attention_parameters(d_model, n_heads, bias=True):
    per_head = 3 * d_model * (d_model // n_heads)
    if bias:
        per_head += 3 * d_model
    return n_heads * per_head + d_model * d_model + (d_model if bias else 0)


def head_similarity(weights):
    w = weights.permute(0, 2, 1, 3)
    norm = torch.sqrt((w**2).sum(-1, keepdim=True))
    cosine = (w / norm) @ (w / norm).transpose(-1, -2)
    return cosine.mean(dim=0)
