"""Makes a product that a position has nothing to do with, too large."""

import math

import torch


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    wide = latent[:, None, :, None, :] * w_k[None, :, None]
    keys = wide.sum(-1)
    scores = q @ keys.mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ latent[:, None] @ w_v.mT
