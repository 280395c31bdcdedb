"""Everything one query at a time."""

import math

import torch


def layer_flops(n, d_model, n_heads, d_ff):
    projections = sum(2 * n * d_model * d_model for _ in "qkvo")
    mixing = 0
    for _head in range(n_heads):
        width = d_model // n_heads
        mixing += 2 * n * width * n
        mixing += 2 * n * n * width
    return projections, mixing, 2 * n * d_model * d_ff + 2 * n * d_ff * d_model


def attend(query, keys, values):
    scores = keys @ query / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=0) @ values


def flatly(function, q, k, v):
    lead = q.shape[:-2]
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v)]
    results = [function(*one) for one in zip(*flat, strict=True)]
    return torch.stack(results).reshape(*lead, q.shape[-2], v.shape[-1])


def window_attention(q, k, v, window, dilation=1):
    def one(q, k, v):
        rows = []
        for i in range(len(q)):
            seen = [i - dilation * m for m in range(window) if i - dilation * m >= 0]
            rows.append(attend(q[i], k[seen], v[seen]))
        return torch.stack(rows)

    return flatly(one, q, k, v)


def linformer_attention(q, k, v, e, f):
    def one(q, k, v):
        mixed_k = torch.stack([sum(e[r, j] * k[j] for j in range(len(k))) for r in range(len(e))])
        mixed_v = torch.stack([sum(f[r, j] * v[j] for j in range(len(v))) for r in range(len(f))])
        return torch.stack([attend(query, mixed_k, mixed_v) for query in q])

    return flatly(one, q, k, v)


def phi(x):
    return torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0)))


def linear_attention(q, k, v, causal=False):
    def one(q, k, v):
        q, k = phi(q), phi(k)
        memory = q.new_zeros(k.shape[-1], v.shape[-1])
        total = q.new_zeros(k.shape[-1])
        if not causal:
            for key, value in zip(k, v, strict=True):
                memory = memory + torch.outer(key, value)
                total = total + key
            return torch.stack([query @ memory / (query @ total) for query in q])
        rows = []
        for query, key, value in zip(q, k, v, strict=True):
            memory = memory + torch.outer(key, value)
            total = total + key
            rows.append(query @ memory / (query @ total))
        return torch.stack(rows)

    return flatly(one, q, k, v)


def tiled_attention(q, k, v, block, causal=False):
    outputs, logs = [], []
    for i in range(q.shape[-2]):
        query = q[..., i : i + 1, :]
        last = i + 1 if causal else k.shape[-2]
        output = log = None
        for start in range(0, last, block):
            stop = min(start + block, last)
            scores = query @ k[..., start:stop, :].mT / math.sqrt(q.shape[-1])
            tile = scores.softmax(-1) @ v[..., start:stop, :]
            tile_log = scores.logsumexp(-1, keepdim=True)
            if output is None:
                output, log = tile, tile_log
            else:
                both = torch.logaddexp(log, tile_log)
                output = output * (log - both).exp() + tile * (tile_log - both).exp()
                log = both
        outputs.append(output)
        logs.append(log)
    return torch.cat(outputs, dim=-2), torch.cat(logs, dim=-2).squeeze(-1)


def cached_attention(q, k, v, cache=None):
    if cache is None:
        past = 0
    else:
        old_k, old_v = cache
        past = old_k.shape[-2]
        k = torch.cat((old_k, k), -2)
        v = torch.cat((old_v, v), -2)
    batch, heads, new, _ = q.shape
    share = heads // k.shape[1]
    output = []
    for b in range(batch):
        for h in range(heads):
            for i in range(new):
                group = h // share
                output.append(attend(q[b, h, i], k[b, group, : past + i + 1], v[b, group, : past + i + 1]))
    return torch.stack(output).reshape(batch, heads, new, -1), (k, v)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    one = torch.empty(d_model // n_heads, dtype=dtype)
    total = 0
    for _what in ("keys", "values"):
        total += one.numel() * one.element_size() * n_groups * n_layers
    return total * length * batch
