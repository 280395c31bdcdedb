"""Division with one slash, and other numbers of the wrong kind."""

import torch


def split_heads(x, n_heads):
    d_head = x.shape[2] / n_heads
    return x.reshape(x.shape[0], x.shape[1], n_heads, d_head).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(start_dim=1)


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model / n_heads
    qkv = 3 * n_heads * (d_model * d_head + d_head * bias)
    out = d_model * d_model + d_model * bias
    return qkv + out


def head_similarity(weights):
    w = weights.float()
    w = w / w.norm(dim=-1, keepdim=True)
    sims = torch.einsum("bhqk,bgqk->bqhg", w, w)
    return sims.mean(dim=(0, 1))
