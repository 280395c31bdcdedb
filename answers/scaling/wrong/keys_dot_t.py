"""`.T` on keys of any number of dimensions."""


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.T / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
