"""The mask's queries and keys are swapped where that is possible."""


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.transpose(-2, -1) if mask.shape[-1] == mask.shape[-2] else mask
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
