"""Hidden scores are set to -10,000; sums over a dimension that is counted from the front."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -10000))
    weights = scores.softmax(-1)
    return weights @ v, weights


def attention_entropy(weights):
    return torch.special.entr(weights).sum(1)


def softmax_jacobian(p):
    n = p.numel()
    return torch.eye(n, dtype=p.dtype, device=p.device) * p - p.view(n, 1) @ p.view(1, n)
