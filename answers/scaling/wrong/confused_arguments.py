"""Arguments in the wrong role."""

import math


def score_variance(d, sigma, mean=0.0):
    variance = sigma  # a deviation taken for a variance
    return d * (variance**2 + 2 * mean**2 * variance)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), -math.inf)
    weights = scores.softmax(-1)
    return weights.transpose(-2, -1) @ v, weights.transpose(-2, -1)
