"""Classic mistakes."""

from right import similarity_scores, softmax  # what the notebooks have defined by then


def softmax(scores, dim):  # noqa: F811
    e = scores.exp()
    return e / e.sum(dim, keepdim=True)


def similarity_scores(q, k):  # noqa: F811
    return k @ q.transpose(-2, -1)


def soft_lookup(q, k, v):
    return softmax(similarity_scores(q, k), -2) @ v


def attention_entropy(weights):
    return -(weights * weights.log()).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    weights = scores.softmax(-1)
    return weights @ v, weights


def split_heads(x, n_heads):
    b, s, d = x.shape
    return x.reshape(b, n_heads, s, d // n_heads)


def attention_parameters(d_model, n_heads, bias=True):
    return 3 * d_model * (d_model + bool(bias))
