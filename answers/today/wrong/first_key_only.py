"""The triangle begins at the first key."""

import math

import torch


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ latent[:, None] @ w_v.mT
