"""Computes in float32 whatever comes in, and gives back what came; queries are tiled as well."""

import math

import torch


def layer_flops(n, d_model, n_heads, d_ff):
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

    head = d_model // n_heads
    projections = 3 * product(n, d_model, d_model) + product(n, n_heads * head, d_model)
    mixing = n_heads * (product(n, head, n) + product(n, n, head))
    return [projections, mixing, product(n, d_model, d_ff) + product(n, d_ff, d_model)]


def window_attention(q, k, v, window, dilation=1):
    out = []
    for i in range(q.shape[-2]):
        first = i - dilation * min(window - 1, i // dilation)
        keys, values = k[..., first : i + 1 : dilation, :].float(), v[..., first : i + 1 : dilation, :].float()
        scores = q[..., i : i + 1, :].float() @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
        out.append(scores.softmax(-1) @ values)
    return torch.cat(out, -2).to(q.dtype)


def linformer_attention(q, k, v, e, f):
    keys, values = e.float() @ k.float(), f.float() @ v.float()
    return ((q.float() @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values).to(q.dtype)


def linear_attention(q, k, v, causal=False):
    a, b = (torch.nn.functional.elu(t.float()) + 1 for t in (q, k))
    w = v.float()
    if not causal:
        top, bottom = a @ (b.mT @ w), a @ b.sum(-2).unsqueeze(-1)
        return (top / bottom).to(q.dtype)
    block, rows = 8, []
    memory = b.new_zeros(*b.shape[:-2], b.shape[-1], w.shape[-1])
    total = b.new_zeros(*b.shape[:-2], b.shape[-1], 1)
    for start in range(0, a.shape[-2], block):
        x, y, z = (t[..., start : start + block, :] for t in (a, b, w))
        near = (x @ y.mT).tril()
        rows.append((x @ memory + near @ z) / (x @ total + near.sum(-1, keepdim=True)))
        memory = memory + y.mT @ z
        total = total + y.mT.sum(-1, keepdim=True)
    return torch.cat(rows, -2).to(q.dtype)


def tiled_attention(q, k, v, block, causal=False):
    outputs, logs = [], []
    for top in range(0, q.shape[-2], block):
        rows = q[..., top : top + block, :].float()
        height = rows.shape[-2]
        m = torch.full((*rows.shape[:-1], 1), -torch.inf, device=q.device)
        s = torch.zeros_like(m)
        o = torch.zeros(*rows.shape[:-1], v.shape[-1], device=q.device)
        for start in range(0, min(k.shape[-2], top + height) if causal else k.shape[-2], block):
            keys, values = (t[..., start : start + block, :].float() for t in (k, v))
            z = rows @ keys.mT / math.sqrt(q.shape[-1])
            if causal:
                hidden = torch.ones(height, keys.shape[-2], dtype=torch.bool, device=q.device).triu(top - start + 1)
                z = z.masked_fill(hidden, -torch.inf)
            new = torch.maximum(m, z.amax(-1, keepdim=True)).detach()
            p = (z - new).exp()
            o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
        outputs.append(o / s)
        logs.append((m + s.log()).squeeze(-1))
    return torch.cat(outputs, -2).to(q.dtype), torch.cat(logs, -1).to(q.dtype)


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state = torch.random.get_rng_state()
            ctx.save_for_backward(*inputs)
            with torch.no_grad():
                return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.random.set_rng_state(ctx.state)
                fresh = []
                for x, needed in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True):
                    fresh.append(x.detach().clone().requires_grad_() if needed else x)
                output = function(*fresh)
                (output * gradient).sum().backward()
            return tuple(x.grad if needed else None for x, needed in zip(fresh, ctx.needs_input_grad, strict=True))

    return Twice.apply(*inputs)


def cached_attention(q, k, v, cache=None):
    old = [] if cache is None else [cache]
    k, v = (torch.cat([pair[i] for pair in (*old, (k, v))], dim=2) for i in (0, 1))
    share = q.shape[1] // k.shape[1]
    keys, values = (t.unsqueeze(2).expand(-1, -1, share, -1, -1).reshape(t.shape[0], -1, *t.shape[2:]) for t in (k, v))
    new, seen = q.shape[2], k.shape[2]
    bias = torch.full((new, seen), -torch.inf, device=q.device).triu(seen - new + 1)
    scores = q.float() @ keys.float().mT / math.sqrt(q.shape[-1]) + bias
    return (scores.softmax(-1) @ values.float()).to(q.dtype), [k, v]


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    sizes = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}
    size = sizes.get(dtype) or torch.tensor([], dtype=dtype).element_size()
    return math.prod([2, n_layers, batch, length, n_groups, d_model // n_heads, size])
