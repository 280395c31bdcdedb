"""Computes, and keeps it."""

import torch


def layer_flops(n, d_model, n_heads, d_ff):
    sum((8 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff))


def linformer_attention(q, k, v, e, f):
    (q @ (e @ k).mT * q.shape[-1] ** -0.5).softmax(-1) @ (f @ v)


def checkpointed(function, *inputs):
    function(*inputs)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    print(2 * n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1)


def tiled_attention(q, k, v, block, causal=False):
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT * q.shape[-1] ** -0.5
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output


def linear_attention(q, k, v, causal=False):
    if not causal:
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        return q @ (k.mT @ v) / (q @ k.mT.sum(-1, keepdim=True))


def window_attention(q, k, v, window, dilation=1):
    if window >= q.shape[-2]:
        return None
    rows = []
    for i in range(q.shape[-2]):
        first = i - dilation * min(window - 1, i // dilation)
        keys, values = k[..., first : i + 1 : dilation, :], v[..., first : i + 1 : dilation, :]
        rows.append((q[..., i : i + 1, :] @ keys.mT * q.shape[-1] ** -0.5).softmax(-1) @ values)
    return torch.cat(rows, -2)
