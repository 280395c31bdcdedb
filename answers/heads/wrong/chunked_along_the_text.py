"""chunk or split along the sequence instead of along the columns."""

import torch


def split_heads(x, n_heads):
    pieces = torch.chunk(x, n_heads, dim=1)
    return torch.stack(pieces, dim=1)


def merge_heads(x):
    return torch.cat(list(x.unbind(dim=1)), dim=1)


def attention_parameters(d_model, n_heads, bias=True):
    return 3 * (d_model * d_model + bias * d_model)


def head_similarity(weights):
    heads = weights.unbind(dim=1)
    table = [[torch.cosine_similarity(a, b, dim=1).mean() for b in heads] for a in heads]
    return torch.stack([torch.stack(row) for row in table])
