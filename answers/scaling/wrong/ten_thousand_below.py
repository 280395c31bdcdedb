"""Hidden scores are lowered by 10,000, as a sum with a mask of numbers; weights that sum to something else."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        extended = (1.0 - mask.to(q.dtype)) * -10000.0
        scores = scores + extended
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1).exp()
