"""More arguments than asked for, all with defaults; a 0-d tensor for a number."""

import math

import torch


def score_variance(d, sigma, mean=0.0, *, as_tensor=True):
    value = d * sigma**2 * (sigma**2 + 2 * mean**2)
    return torch.tensor(value, dtype=torch.float64) if as_tensor else value


def softmax_jacobian(p, sign=1):
    return sign * (p.diag_embed() - p[..., None] @ p[..., None, :])


def attention_entropy(weights, base=None):
    nats = -torch.xlogy(weights, weights).sum(-1)
    return nats if base is None else nats / math.log(base)


def scaled_dot_product_attention(q, k, v, mask=None, scale=None, dropout=0.0):
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    scores = scale * (q @ k.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    weights = torch.nn.functional.dropout(scores.softmax(-1), dropout, training=dropout > 0)
    return [weights @ v, weights]
