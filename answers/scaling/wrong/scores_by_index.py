"""Hidden scores are written by an index, which does not broadcast."""


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores[mask.logical_not()] = -float("inf")
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
