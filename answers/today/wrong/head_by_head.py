"""Makes the keys of one head after the other."""

import math

import torch


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    heads = []
    for h in range(q.shape[1]):
        keys = latent @ w_k[h].T
        scores = q[:, h] @ keys.mT + q_turned[:, h] @ k_turned.mT
        scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
        new, key = scores.shape[-2:]
        later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
        heads.append(scores.masked_fill(later, -torch.inf).softmax(-1) @ latent @ w_v[h].T)
    return torch.stack(heads, 1)
