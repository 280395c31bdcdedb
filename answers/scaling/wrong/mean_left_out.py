"""An argument or a case that is simply not used."""

import math

import torch


def score_variance(d, sigma, mean=0.0):
    """q·k is a sum of d products, each with variance sigma^2 * sigma^2."""
    return float(d) * math.pow(sigma, 4)


def softmax_jacobian(p):
    return torch.diag_embed(p * (1 - p))


def attention_entropy(weights):
    return -torch.sum(weights * torch.log(weights), dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(k.size(-1))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ v
    return output, weights
