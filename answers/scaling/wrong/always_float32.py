"""Results are float32 whatever came in."""

import torch


def softmax_jacobian(p):
    return (
        torch.eye(p.shape[-1], device=p.device) * p.unsqueeze(-1).float() - (p.unsqueeze(-1) * p.unsqueeze(-2)).float()
    )


def attention_entropy(weights):
    return torch.special.entr(weights.float()).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    q, k, v = q.float(), k.float(), v.float()
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
