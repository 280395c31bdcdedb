"""Makes its own tensors on the CPU."""

import math

import torch
import torch.nn.functional as F


def window_attention(q, k, v, window, dilation=1):
    seen = torch.arange(q.shape[-2])[:, None] - dilation * torch.arange(window)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    memory = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=q.dtype)
    total = torch.zeros(*k.shape[:-2], k.shape[-1], 1, dtype=q.dtype)
    if not causal:
        memory, total = memory + k.mT @ v, total + k.mT.sum(-1, keepdim=True)
        return q @ memory / (q @ total)
    rows = []
    for i in range(q.shape[-2]):
        memory = memory + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :, None]
        rows.append(q[..., i, None, :] @ memory / (q[..., i, None, :] @ total))
    return torch.cat(rows, -2)


def tiled_attention(q, k, v, block, causal=False):
    m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
    s, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    row = torch.arange(q.shape[-2])[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2]) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / s, (m + s.log()).squeeze(-1)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:]).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def linformer_attention(q, k, v, e, f):
    keys = torch.zeros(*k.shape[:-2], e.shape[0], k.shape[-1], dtype=q.dtype) + e @ k
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f @ v)


def layer_flops(n, d_model, n_heads, d_ff):
    n = max(n, 1)
    return 8 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float32):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize
