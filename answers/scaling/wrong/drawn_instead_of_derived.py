"""Measured on random numbers instead of computed."""

import torch


def score_variance(d, sigma, mean=0.0):
    gen = torch.Generator().manual_seed(1)
    q = torch.randn(20000, d, generator=gen) * sigma + mean
    k = torch.randn(20000, d, generator=gen) * sigma + mean
    return (q * k).sum(-1).var().item()


def softmax_jacobian(p):
    scores = torch.log(p).detach().requires_grad_()
    weights = torch.softmax(scores, -1)
    rows = []
    for i in range(p.shape[-1]):
        (g,) = torch.autograd.grad(weights[..., i].sum(), scores, retain_graph=True)
        rows.append(g)
    return torch.stack(rows, dim=-2)


def attention_entropy(weights):
    draws = torch.multinomial(weights.reshape(-1, weights.shape[-1]), 4096, replacement=True)
    probs = weights.reshape(-1, weights.shape[-1]).gather(-1, draws)
    return -probs.log().mean(-1).reshape(weights.shape[:-1])


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = torch.randn(1000, q.shape[-1]).mul(torch.randn(1000, q.shape[-1])).sum(-1).std()
    scores = q @ k.transpose(-1, -2) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
