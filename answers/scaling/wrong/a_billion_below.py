"""Hidden scores are -1e9: in float16 there is no such number. The weights' variance instead of their entropy."""

import math

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, v), weights


def score_variance(d, sigma, mean=0.0):
    return d * (sigma**2 + sigma**2)


def attention_entropy(weights):
    return weights.var(-1, unbiased=False)
