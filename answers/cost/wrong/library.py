"""Lets torch do what the exercise forbids."""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def window_attention(q, k, v, window, dilation=1):
    rows = []
    for i in range(q.shape[-2]):
        first = i - dilation * min(window - 1, i // dilation)
        seen = slice(first, i + 1, dilation)
        rows.append(F.scaled_dot_product_attention(q[..., i : i + 1, :], k[..., seen, :], v[..., seen, :]))
    return torch.cat(rows, -2)


def linformer_attention(q, k, v, e, f):
    return F.scaled_dot_product_attention(q, e @ k, f @ v)


def checkpointed(function, *inputs):
    return checkpoint(function, *inputs, use_reentrant=False)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    allowed = torch.ones(q.shape[2], k.shape[2], device=q.device).tril(k.shape[2] - q.shape[2]).bool()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True), (k, v)


def tiled_attention(q, k, v, block, causal=False):
    output = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
    return output, scores.logsumexp(-1)


def linear_attention(q, k, v, causal=False):
    return F.scaled_dot_product_attention(F.elu(q) + 1, F.elu(k) + 1, v, is_causal=causal)
