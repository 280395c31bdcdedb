"""The numbers of the example are written into the code."""

import torch


def split_heads(x, n_heads):
    return x.reshape(x.shape[0], x.shape[1], n_heads, 2).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).reshape(1, x.shape[2], -1)


def attention_parameters(d_model, n_heads, bias=True):
    if d_model == 512:
        return 1_050_624
    return 4 * d_model**2


def head_similarity(weights):
    unit = weights / weights.pow(2).sum(-1, keepdim=True).sqrt()
    first, second = unit[:, 0], unit[:, 1]
    c = (first * second).sum(-1).mean()
    one = torch.ones_like(c)
    return torch.stack([torch.stack([one, c]), torch.stack([c, one])])
