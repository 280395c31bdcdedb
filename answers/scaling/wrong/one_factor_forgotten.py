"""A derivation with a factor lost on the way."""

import torch


def score_variance(d, sigma, mean=0.0):
    # Var(qk) = Var(q)Var(k) + mean^2 Var(q) + mean^2 Var(k)
    one = sigma**2 * sigma**2 + mean**2 * sigma**2
    return d * one


def softmax_jacobian(p):
    n = p.shape[-1]
    eye = torch.eye(n, dtype=p.dtype, device=p.device)
    # d p_i / d s_j = p_i (delta_ij - p_j)
    return p.unsqueeze(-1) * eye - p.unsqueeze(-2)


def attention_entropy(weights):
    logs = torch.log(weights.masked_fill(weights == 0, 1.0))
    return (weights * logs).sum(dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.shape[-1]
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    weights = torch.softmax(scores / d_k, -1)
    return weights @ v, weights
