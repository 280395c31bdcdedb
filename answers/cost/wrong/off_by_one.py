"""One too many, one too few."""

import math

import torch
import torch.nn.functional as F


def windowed(q, k, v, steps, dilation):
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * steps.to(q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def window_attention(q, k, v, window, dilation=1):
    return windowed(q, k, v, torch.arange(window + 1), dilation)


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    if causal:
        memory, total = (t.cumsum(-3).roll(1, -3) for t in (memory, total))
    else:
        memory, total = (t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    m = torch.full_like(q[..., :1], -torch.inf)
    s, o = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.shape[-1])
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for t in range(k.shape[-2] // block):
        keys, values = k[..., t * block : (t + 1) * block, :], v[..., t * block : (t + 1) * block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(t * block + torch.arange(block, device=q.device) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / s, (m + s.log()).squeeze(-1)


def cached_attention(q, k, v, cache=None):
    past = 0
    if cache is not None:
        past = cache[0].shape[2]
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    allowed = torch.ones(scores.shape[-2:], device=q.device).tril(past + 1).bool()
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 6 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * (length - 1) * n_groups * (d_model // n_heads) * dtype.itemsize


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            result = function(*inputs)
            ctx.state = torch.get_rng_state()  # one call too late
            ctx.save_for_backward(*inputs)
            return result

        @staticmethod
        def backward(ctx, gradient):
            fresh = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True)]
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)
