"""Lambdas, objects that can be called, named tuples, decorators."""

import functools
from collections import namedtuple

import torch
from torch.nn import functional as F

Flops = namedtuple("Flops", "projections mixing feed_forward")
Cache = namedtuple("Cache", "keys values")
Attended = namedtuple("Attended", "output lse")

layer_flops = lambda n, d_model, n_heads=1, d_ff=None: Flops(  # noqa: E731
    projections=2 * n * d_model * 4 * d_model, mixing=2 * 2 * n * n * d_model, feed_forward=2 * n * 2 * d_model * d_ff
)


def any_callable(function):
    class Wrapped:
        def __call__(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Wrapped()


@any_callable
def window_attention(q, k, v, window, dilation=1):
    n = q.shape[-2]
    reach = (window - 1) * dilation
    padded = [F.pad(t, (0, 0, reach, 0)) for t in (k, v)]
    places = torch.arange(n, device=q.device)[:, None] + torch.arange(0, reach + 1, dilation, device=q.device)
    keys, values = (t[..., places, :] for t in padded)  # oldest first
    scores = (q.unsqueeze(-2) * keys).sum(-1) / q.shape[-1] ** 0.5
    return (scores.masked_fill(places < reach, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


linformer_attention = lambda q, k, v, e, f: (  # noqa: E731
    torch.softmax(q @ torch.matmul(e, k).mT * q.size(-1) ** -0.5, -1) @ torch.matmul(f, v)
)


class Linear:
    def phi(self, x):
        return F.elu(x).add(1)

    def __call__(self, q, k, v, causal=False):
        q, k = self.phi(q), self.phi(k)
        if not causal:
            return (q @ (k.mT @ v)) / (q @ k.mT.sum(-1, keepdim=True))
        return self.step_by_step(q, k, v)

    def step_by_step(self, q, k, v):
        memory, total, rows = 0, 0, []
        for i in range(q.shape[-2]):
            key = k[..., i, :, None]
            memory = memory + key * v[..., i, None, :]
            total = total + key
            query = q[..., i, None, :]
            rows.append(query @ memory / (query @ total))
        return torch.cat(rows, dim=-2)


linear_attention = Linear()


@functools.wraps(print)
def tiled_attention(q, k, v, block, causal=False, **unused):
    scale = q.shape[-1] ** -0.5
    state = None
    for start in range(0, k.shape[-2], block):
        keys = k[..., start : start + block, :]
        scores = (q * scale) @ keys.mT
        if causal:
            row = torch.arange(q.shape[-2], device=q.device).unsqueeze(-1)
            column = torch.arange(keys.shape[-2], device=q.device) + start
            scores = torch.where(row >= column, scores, -torch.inf)
        log = torch.logsumexp(scores, -1) if state is None else torch.logaddexp(state[1], scores.logsumexp(-1))
        new = torch.exp(scores - log.unsqueeze(-1)) @ v[..., start : start + block, :]
        state = (new if state is None else state[0] * torch.exp(state[1] - log).unsqueeze(-1) + new), log
    return Attended(*state)


class _Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, state, *inputs):
        ctx.function, ctx.state, ctx.inputs = function, state, inputs
        return function(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        here = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            marked = [x.detach().requires_grad_(x.requires_grad) for x in ctx.inputs]
            output = ctx.function(*marked)
        torch.set_rng_state(here)
        torch.autograd.backward(output, gradient)
        return None, None, *(x.grad for x in marked)


checkpointed = lambda function, *inputs: _Again.apply(function, torch.get_rng_state(), *inputs)  # noqa: E731


class Cached:
    def __call__(self, q, k, v, cache=None):
        if cache is not None:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(cache, (k, v), strict=True))
        share = q.shape[1] // k.shape[1]
        heads = torch.arange(q.shape[1], device=q.device) // share
        scores = q @ k[:, heads].mT / q.shape[-1] ** 0.5
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(k.shape[-2] - q.shape[-2])
        return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v[:, heads], Cache(k, v)


cached_attention = Cached()
cache_bytes = lambda n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16: (  # noqa: E731
    torch.empty((2, n_layers, batch, n_groups, length, d_model // n_heads), dtype=dtype, device="meta").nbytes
)
