"""Makes its own tensors in float32, or gives float32 whatever came in."""

import math

import torch
import torch.nn.functional as F


def window_attention(q, k, v, window, dilation=1):
    q, k, v = q.float(), k.float(), v.float()
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linformer_attention(q, k, v, e, f):
    weights = (q @ (e @ k).mT / math.sqrt(q.shape[-1])).softmax(-1, dtype=torch.float32)
    return weights @ (f @ v).float()


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    memory = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], device=q.device)
    total = torch.zeros(*k.shape[:-2], k.shape[-1], 1, device=q.device)
    if not causal:
        memory, total = memory + k.mT @ v, total + k.mT.sum(-1, keepdim=True)
        return q.float() @ memory.float() / (q.float() @ total.float())
    rows = []
    for i in range(q.shape[-2]):
        memory = memory + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :, None]
        query = q[..., i, None, :].float()
        rows.append(query @ memory.float() / (query @ total.float()))
    return torch.cat(rows, -2)


def tiled_attention(q, k, v, block, causal=False):
    m = torch.full((*q.shape[:-1], 1), -1e30, device=q.device)
    s, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], device=q.device)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :].float(), v[..., start : start + block, :].float()
        z = q.float() @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / s, (m + s.log()).squeeze(-1)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.full(scores.shape[-2:], -torch.inf, device=q.device).triu(k.shape[2] - q.shape[2] + 1)
    weights = (scores.float() + hidden).softmax(-1)
    return weights @ v.repeat_interleave(share, 1).float(), (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    d_head = d_model / n_heads
    return 8.0 * n * d_model**2, 4 * n_heads * n**2 * d_head, 4.0 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model / n_heads) * dtype.itemsize
