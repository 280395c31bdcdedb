"""Weights that are normalised in another way."""

import torch


def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.norm(dim=dim, keepdim=True)


def similarity_scores(q, k):
    return q @ torch.nn.functional.normalize(k, dim=-1).transpose(-2, -1)


def soft_lookup(q, k, v):
    scores = (q @ k.transpose(-2, -1)).relu()
    return scores / (scores.sum(-1, keepdim=True) + 1e-9) @ v
