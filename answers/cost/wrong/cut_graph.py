"""Right numbers without a gradient."""

import math

import torch
import torch.nn.functional as F


def window_attention(q, k, v, window, dilation=1):
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    with torch.no_grad():
        scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(seen < 0, -torch.inf).softmax(-1)
    return (weights.unsqueeze(-1) * values).sum(-2)


def linformer_attention(q, k, v, e, f):
    return (q @ (e.data @ k).mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f.data @ v)


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total).detach()).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output, log.detach()


def checkpointed(function, *inputs):
    with torch.no_grad():
        return function(*inputs)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0].detach(), k], 2), torch.cat([cache[1].detach(), v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 24 * n * d_model**2, 12 * n**2 * d_model, 12 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * length * n_groups * (d_model // n_heads) * dtype.itemsize
