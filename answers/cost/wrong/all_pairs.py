"""Right numbers, by way of the matrix of all pairs."""

import math

import torch
import torch.nn.functional as F


def band(n, window, dilation, device):
    back = torch.arange(n, device=device)[:, None] - torch.arange(n, device=device)
    return (back >= 0) & (back % dilation == 0) & (back < window * dilation)


def window_attention(q, k, v, window, dilation=1):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    allowed = band(q.shape[-2], window, dilation, q.device)
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v


def linformer_attention(q, k, v, e, f):
    scores = q @ k.mT @ e.mT / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ (f @ v)


def linear_attention(q, k, v, causal=False):
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
    if causal:
        weights = weights.tril()
    return weights @ v / weights.sum(-1, keepdim=True)


def tiled_attention(q, k, v, block, causal=False):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    lse = scores.logsumexp(-1)
    output = 0
    for start in range(0, k.shape[-2], block):
        stop = start + block
        output = output + (scores[..., start:stop] - lse.unsqueeze(-1)).exp() @ v[..., start:stop, :]
    return output, lse


def checkpointed(function, *inputs):
    return function(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    d_head = d_model // n_heads
    return 8 * n * d_model**2, 4 * n**2 * d_head, 4 * n * d_model * d_ff


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    new, seen = q.shape[2], k.shape[2]
    hidden = torch.ones(new, seen, device=q.device).triu(seen - new + 1).bool()
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -torch.inf).softmax(-1) @ v, (k, v)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return n_layers * batch * n_heads * length * length * dtype.itemsize
