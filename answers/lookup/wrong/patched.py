"""Overflow is swept under the carpet."""


def softmax(scores, dim):
    powers = scores.exp()
    return (powers / powers.sum(dim, keepdim=True)).nan_to_num(0.0)


def soft_lookup(q, k, v):
    powers = (q @ k.transpose(-2, -1)).clamp(max=50).exp()
    return powers / powers.sum(-1, keepdim=True) @ v
