"""The mean is taken first, and compared afterwards; or the wrong thing is averaged."""

import torch


def split_heads(x, n_heads):
    b, n, d = x.shape
    return x.unsqueeze(1).expand(b, n_heads, n, d)


def merge_heads(x):
    return x.mean(dim=1)


def attention_parameters(d_model, n_heads, bias=True):
    return (4 * d_model * d_model + 4 * d_model * bias) // n_heads


def head_similarity(weights):
    average = weights.mean(dim=0)
    unit = average / average.norm(dim=-1, keepdim=True)
    return torch.einsum("hqk,gqk->hg", unit, unit) / weights.shape[2]
