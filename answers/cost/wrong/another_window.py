"""The window lies elsewhere: on both sides, in blocks, in the future; groups are dealt out in turn."""

import math

import torch


def window_attention(q, k, v, window, dilation=1):
    n = q.shape[-2]
    steps = dilation * torch.arange(-(window // 2), window - window // 2, device=q.device)
    seen = torch.arange(n, device=q.device)[:, None] + steps
    keys, values = (t[..., seen.clamp(0, n - 1), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    outside = (seen < 0) | (seen >= n)
    return (scores.masked_fill(outside, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat(1, share, 1, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat(1, share, 1, 1), (k, v)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    if causal:
        memory, total = (t.flip(-3).cumsum(-3).flip(-3) for t in (memory, total))
    else:
        memory, total = (t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:  # the position within the tile
            z = z.masked_fill(torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output, log


def linformer_attention(q, k, v, e, f):
    return (q @ (f @ k).mT / math.sqrt(q.shape[-1])).softmax(-1) @ (e @ v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2, 4 * n**2 * d_model * n_heads, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * (n_heads // n_groups) * (d_model // n_heads) * dtype.itemsize
