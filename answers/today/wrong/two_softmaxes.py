"""Each part has a softmax of its own."""

import math

import torch


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    root = math.sqrt(q.shape[-1] + q_turned.shape[-1])
    parts = (q @ w_k) @ latent[:, None].mT / root, q_turned @ k_turned[:, None].mT / root
    new, key = parts[0].shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    a, b = (s.masked_fill(later, -torch.inf).softmax(-1) for s in parts)
    return (a + b) / 2 @ latent[:, None] @ w_v.mT
