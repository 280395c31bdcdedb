"""Right answers to ten exercises. A name that ends in `_2` is another way to write the same."""

import math

import torch
from torch import nn


def softmax(scores, dim):
    e = (scores - scores.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def softmax_2(scores, dim):
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)


def similarity_scores_2(q, k):
    return torch.einsum("...id,...jd->...ij", q, k)


def soft_lookup(q, k, v):
    return softmax(similarity_scores(q, k), -1) @ v


def soft_lookup_2(q, k, v):
    weights = softmax(similarity_scores(q, k), dim=-1)
    return torch.einsum("...ij,...jd->...id", weights, v)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return soft_lookup(self.q_proj(x), self.k_proj(x), self.v_proj(x))


class SelfAttention_2(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj, self.k_proj = nn.Linear(d_model, d_k, bias=False), nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        scores = self.q_proj(x) @ self.k_proj(x).transpose(-2, -1)
        return softmax(scores, -1) @ self.v_proj(x)


def score_variance(d, sigma, mean=0.0):
    return d * (sigma**4 + 2 * mean**2 * sigma**2)


def score_variance_2(d, sigma, mean=0.0):
    square, spread = mean * mean, sigma * sigma
    return d * ((spread + square) ** 2 - square**2)


def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(-1)


def attention_entropy_2(weights):
    logs = torch.where(weights > 0, weights, torch.ones_like(weights)).log()
    return -(weights * logs).sum(-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights


def split_heads(x, n_heads):
    b, s, d = x.shape
    return x.view(b, s, n_heads, d // n_heads).transpose(1, 2)


def split_heads_2(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    b, h, s, d = x.shape
    return x.transpose(1, 2).reshape(b, s, h * d)


def merge_heads_2(x):
    return x.transpose(1, 2).flatten(2)


def attention_parameters(d_model, n_heads, bias=True):
    return 4 * d_model * (d_model + bool(bias))


def attention_parameters_2(d_model, n_heads, bias=True):
    one = d_model**2
    if bias:
        one += d_model
    return 4 * one
