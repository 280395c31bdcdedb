"""Cuts the text into blocks that do not see each other."""

import math

import torch


def window_attention(q, k, v, window, dilation=1):
    parts = []
    for start in range(0, q.shape[-2], window):
        a, b, c = (t[..., start : start + window, :] for t in (q, k, v))
        scores = a @ b.mT / math.sqrt(q.shape[-1])
        hidden = torch.ones(scores.shape[-2:], device=q.device).triu(1).bool()
        parts.append(scores.masked_fill(hidden, -torch.inf).softmax(-1) @ c)
    return torch.cat(parts, -2)


def tiled_attention(q, k, v, block, causal=False):
    outputs, logs = [], []
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -1e4)
        outputs.append(z.softmax(-1) @ values)
        logs.append(z.logsumexp(-1))
    return torch.stack(outputs).mean(0), torch.stack(logs).logsumexp(0)


def linformer_attention(q, k, v, e, f):
    keys = (e @ k) / e.shape[1]
    values = (f @ v) / f.shape[1]
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory = memory.cumsum(-3) if causal else memory.sum(-3, keepdim=True)
    total = total.sum(-3, keepdim=True)
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([k, cache[0]], 2), torch.cat([v, cache[1]], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    new = q.shape[2]
    hidden = torch.zeros(scores.shape[-2:], device=q.device).bool()
    hidden[:, :new] = torch.ones(new, new, device=q.device).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2, 4 * n**2 * d_model // n_heads, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize


def checkpointed(function, *inputs):
    parts = []
    for x in inputs:
        parts.append(x.detach() if x.is_floating_point() else x)
    return function(*parts)
