"""Computes in float32 and casts back, as most code for language models has it: about six digits."""

import torch


def score_variance(d, sigma, mean=0.0):
    sigma, mean = torch.tensor(sigma), torch.tensor(mean)  # float32
    return d * (sigma**4 + 2 * (mean * sigma) ** 2)


def softmax_jacobian(p):
    x = p.float()
    return (torch.diag_embed(x) - x[..., :, None] * x[..., None, :]).type_as(p)


def attention_entropy(weights):
    x = weights.float()
    return torch.where(x > 0, -x * torch.where(x > 0, x, 1).log(), 0).sum(-1).to(weights.dtype)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return weights @ v, weights
