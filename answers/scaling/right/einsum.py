"""Everything as Einstein sums, scores divided by a power of the width."""

import torch


def score_variance(d, sigma, mean=0.0):
    second = sigma**2 + mean**2
    return d * (second * second - mean**4)


def softmax_jacobian(p):
    identity = torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
    return torch.einsum("...i,ij->...ij", p, identity) - torch.einsum("...i,...j->...ij", p, p)


def attention_entropy(weights):
    surprise = torch.where(weights > 0, -torch.log(torch.where(weights > 0, weights, 1.0)), 0.0)
    return torch.einsum("...n,...n->...", weights, surprise)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights
