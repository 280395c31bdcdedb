"""Written for matrices, without a batch; sizes of 1 dropped."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.mm(q, k.t()) / q.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=1)
    return torch.mm(weights, v), weights


def softmax_jacobian(p):
    return (torch.diag_embed(p) - p[..., :, None] * p[..., None, :]).squeeze()


def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1).squeeze()
