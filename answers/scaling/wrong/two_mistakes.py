"""Unscaled, and the mask the wrong way round; the wrong power twice."""


def score_variance(d, sigma, mean=0.0):
    return sigma**2


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights
