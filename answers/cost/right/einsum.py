"""Products as einsum, shifted copies, running sums."""

import torch
import torch.nn.functional as F


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff


def shifted(x, by):
    """x moved by some positions towards the end; what has no past is 0."""
    n = x.shape[-2]
    if by >= n:
        return torch.zeros_like(x)
    return F.pad(x, (0, 0, by, 0))[..., :n, :]


def window_attention(q, k, v, window, dilation=1):
    n, d = q.shape[-2:]
    position = torch.arange(n, device=q.device)
    scores = []
    for m in range(window):
        score = torch.einsum("...nd,...nd->...n", q, shifted(k, dilation * m)) * d**-0.5
        scores.append(torch.where(position >= dilation * m, score, -torch.inf))
    weights = torch.stack(scores, dim=-1).softmax(-1)
    return sum(weights[..., m, None] * shifted(v, dilation * m) for m in range(window))


def linformer_attention(q, k, v, e, f):
    keys = torch.einsum("rn,...nd->...rd", e, k)
    values = torch.einsum("rn,...nd->...rd", f, v)
    scores = torch.einsum("...qd,...rd->...qr", q, keys) * q.shape[-1] ** -0.5
    return torch.einsum("...qr,...rd->...qd", scores.softmax(-1), values)


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    ones = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)  # the last column sums the weights
    memory = torch.einsum("...nd,...ne->...nde", k, ones)
    if causal:
        result = torch.einsum("...nd,...nde->...ne", q, memory.cumsum(-3))
    else:
        result = torch.einsum("...nd,...de->...ne", q, memory.sum(-3))
    return result[..., :-1] / result[..., -1:]


def tiled_attention(q, k, v, block, causal=False):
    n, m = q.shape[-2], k.shape[-2]
    parts, logs = [], []
    for keys, values, places in zip(
        k.split(block, -2), v.split(block, -2), torch.arange(m, device=q.device).split(block), strict=True
    ):
        scores = torch.einsum("...qd,...kd->...qk", q, keys) * q.shape[-1] ** -0.5
        if causal:
            scores = scores.masked_fill(places > torch.arange(n, device=q.device)[:, None], -torch.inf)
        top = scores.amax(-1, keepdim=True).detach().clamp(min=torch.finfo(q.dtype).min)
        powers = (scores - top).exp()
        parts.append((powers @ values, powers.sum(-1, keepdim=True), top))
    highest = torch.stack([top for *_, top in parts]).amax(0)
    output = sum(o * (top - highest).exp() for o, _, top in parts)
    total = sum(s * (top - highest).exp() for _, s, top in parts)
    logs = highest + total.log()
    return output / total, logs[..., 0]


def cached_attention(q, k, v, cache=None):
    k, v = (k, v) if cache is None else (torch.cat([old, new], dim=2) for old, new in zip(cache, (k, v), strict=True))
    grouped = q.unflatten(1, (k.shape[1], -1))  # (batch, group, share, new, d_k)
    scores = torch.einsum("bgsnd,bgtd->bgsnt", grouped, k) * q.shape[-1] ** -0.5
    n, t = scores.shape[-2:]
    future = torch.ones(n, t, dtype=torch.bool, device=q.device).triu(t - n + 1)
    weights = scores.masked_fill(future, -torch.inf).softmax(-1)
    return torch.einsum("bgsnt,bgtd->bgsnd", weights, v).flatten(1, 2), (k, v)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * d_model * dtype.itemsize // n_heads
