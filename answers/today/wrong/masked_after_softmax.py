"""Hides after the shares were given out."""

import math


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    weights = (scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])).softmax(-1)
    new, key = scores.shape[-2:]
    return weights.tril(key - new) @ latent[:, None] @ w_v.mT
