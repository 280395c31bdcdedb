"""Makes all keys and values."""

import math

import torch


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    keys = torch.einsum("bkr,hdr->bhkd", latent, w_k)
    values = torch.einsum("bkr,hdr->bhkd", latent, w_v)
    shared = k_turned[:, None].expand(-1, q.shape[1], -1, -1)
    q, k = torch.cat([q, q_turned], -1), torch.cat([keys, shared], -1)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ values
