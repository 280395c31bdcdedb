"""Written for exactly (batch, …) and nothing else."""

import math

import torch


def softmax_jacobian(p):
    return torch.diag_embed(p) - torch.bmm(p.unsqueeze(2), p.unsqueeze(1))


def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(dim=2)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(2)
    return torch.bmm(weights, v), weights
