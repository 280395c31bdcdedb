"""The mask comes after the softmax and the rows are mended; a loud hidden key leaves nothing to mend."""


def scaled_dot_product_attention(q, k, v, mask=None):
    weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ v, weights


def attention_entropy(weights):
    kept = weights[weights > 0]
    return -(kept * kept.log()).sum()
