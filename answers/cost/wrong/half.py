"""Counts half: one for a multiply-add, one of two layers, one of two products, one of keys and values."""

import math

import torch


def layer_flops(n, d_model, n_heads, d_ff):
    return 4 * n * d_model**2, 2 * n**2 * d_model, 2 * n * d_model * d_ff


def window_attention(q, k, v, window, dilation=1):
    window = (window + 1) // 2
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linformer_attention(q, k, v, e, f):
    keys = e @ k
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ (e @ v)


def linear_attention(q, k, v, causal=False):
    k = torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    outputs, logs = [], []
    for i in range(q.shape[-2]):
        stop = i + 1 if causal else k.shape[-2]
        scores = q[..., i : i + 1, :] @ k[..., :stop, :].mT / math.sqrt(q.shape[-1])
        outputs.append(scores.softmax(-1) @ v[..., :stop, :])
        logs.append(scores.logsumexp(-1) / 2)
    return torch.cat(outputs, -2), torch.cat(logs, -1)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k = torch.cat([cache[0], k], dim=2)
    share = q.shape[1] // k.shape[1]
    keys = k.repeat_interleave(share, 1)[:, :, -q.shape[2] :]
    scores = q @ keys.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize


def checkpointed(function, *inputs):
    half = len(inputs) // 2
    frozen = [x.detach() for x in inputs[half:]]
    return function(*inputs[:half], *frozen)
