"""Rescales the sum but not the output, or both the wrong way."""

import math

import torch


def tiled_attention(q, k, v, block, causal=False):
    m = torch.full_like(q[..., :1], -torch.inf)
    s, o = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.shape[-1])
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / s, (m + s.log()).squeeze(-1)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total + 1e-6)).squeeze(-2)


def window_attention(q, k, v, window, dilation=1):
    pad = torch.nn.functional.pad
    reach = (window - 1) * dilation
    keys, values = (pad(t, (0, 0, reach, 0)) for t in (k, v))
    n = q.shape[-2]
    keys, values = (
        torch.stack([t[..., m * dilation : m * dilation + n, :] for m in range(window)], -2) for t in (keys, values)
    )
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])  # padding has the score 0
    return (scores.softmax(-1).unsqueeze(-1) * values).sum(-2)


def linformer_attention(q, k, v, e, f):
    return (q @ (e @ k).mT / math.sqrt(q.shape[-1])).softmax(-2) @ (f @ v)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state = torch.get_rng_state()
            ctx.save_for_backward(*inputs)
            result = function(*inputs)
            torch.set_rng_state(ctx.state)  # for the second call
            return result

        @staticmethod
        def backward(ctx, gradient):
            fresh = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True)]
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2, 2 * n**2 * d_model, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * torch.get_default_dtype().itemsize
