"""Gradients that go to the wrong place, or are kept in the wrong one."""

import math

import torch


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state, ctx.inputs = torch.get_rng_state(), inputs
            return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(*ctx.inputs).backward(gradient)  # into the caller's own .grad
            return tuple(None if x.grad is None else x.grad.clone() for x in ctx.inputs)

    return Twice.apply(*inputs)


def linformer_attention(q, k, v, e, f):
    mixed = e @ q if e.shape[-1] == q.shape[-2] else q
    return (mixed @ (e @ k).mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f @ v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * d_model * n**2, 4 * d_model**2 * n, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    queries = n_layers * batch * n_heads * (d_model // n_heads) * dtype.itemsize
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize + queries


def cached_attention(q, k, v, cache=None):
    new = q.shape[2]
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    if cache is None:  # only the first call is masked
        scores = scores.masked_fill(torch.ones(new, new, device=q.device).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def window_attention(q, k, v, window, dilation=1):
    rows = []
    for i in range(q.shape[-2]):
        seen = slice(i - dilation * (window - 1), i + 1, dilation)  # a negative start counts from the end
        keys, values = k[..., seen, :], v[..., seen, :]
        rows.append((q[..., i : i + 1, :] @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values)
    return torch.cat(rows, -2)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.softplus(q), torch.nn.functional.softplus(k)
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)
