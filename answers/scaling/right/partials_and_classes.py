"""Partials, a class that is called, a bound method, an integer exponent by hand."""

import functools

import torch


def moment(d, sigma, mean=0.0, *, power):
    variance = sigma * sigma
    return sum(variance**power + 2 * variance * mean * mean for _ in range(d))


score_variance = functools.partial(moment, power=2)


class softmax_jacobian:
    def __new__(cls, p):
        n = p.shape[-1]
        rows = p.reshape(-1, n)
        found = rows.new_zeros(len(rows), n, n)
        found = found.diagonal_scatter(rows, dim1=1, dim2=2) - torch.bmm(rows[:, :, None], rows[:, None, :])
        return found.reshape(*p.shape, n)


class Surprise:
    def of(self, weights):
        seen = weights.masked_fill(weights == 0, 1)  # log 1 is 0
        return -(seen * seen.log()).sum(dim=-1)


attention_entropy = Surprise().of


@functools.lru_cache
def root(width):
    return width**0.5


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = (q @ k.mT).div(root(q.shape[-1]))
    bias = 0.0 if mask is None else torch.where(mask, 0.0, -torch.inf).to(scores)
    logs = torch.log_softmax(scores + bias, dim=-1)
    return logs.exp() @ v, logs.exp()
