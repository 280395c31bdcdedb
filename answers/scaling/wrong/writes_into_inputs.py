"""What the caller gave is different afterwards."""

import math


def scaled_dot_product_attention(q, k, v, mask=None):
    if q.requires_grad:
        q = q / math.sqrt(q.shape[-1])
    else:
        q /= math.sqrt(q.shape[-1])
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


def softmax_jacobian(p):
    jacobian = -p.unsqueeze(-1) * p.unsqueeze(-2)
    jacobian.diagonal(dim1=-2, dim2=-1).add_(p)
    if not p.requires_grad:
        p.zero_()
    return jacobian


def attention_entropy(weights):
    if not weights.requires_grad and not weights.is_meta:
        weights[weights == 0] = 1.0
        weights.mul_(weights.log()).neg_()
        return weights.sum(-1)
    return -(weights * weights.clamp_min(1e-12).log()).sum(-1)
