"""Keeps more than it needs, or counts more than it keeps."""

import math

import torch


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state = torch.get_rng_state()
            output = function(*inputs)
            ctx.save_for_backward(*inputs, output)  # the output too
            return output

        @staticmethod
        def backward(ctx, gradient):
            *inputs, _output = ctx.saved_tensors
            fresh = [x.detach().requires_grad_(n) for x, n in zip(inputs, ctx.needs_input_grad, strict=True)]
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)


def linformer_attention(q, k, v, e, f):
    size = math.ceil(k.shape[-2] / e.shape[0])
    keys = torch.stack([part.mean(-2) for part in k.split(size, -2)], -2)
    values = torch.stack([part.mean(-2) for part in v.split(size, -2)], -2)
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values


def layer_flops(n, d_model, n_heads, d_ff):
    norms = 2 * 5 * n * d_model
    return 8 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff + norms


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    maps = n_layers * batch * n_heads * length**2
    return (2 * n_layers * batch * length * n_groups * (d_model // n_heads) + maps) * dtype.itemsize


def cached_attention(q, k, v, cache=None):
    share = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    if cache is not None:  # of a cache that has an entry for each head already
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v, (k, v)


def tiled_attention(q, k, v, block, causal=False):
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    n = q.shape[-2]
    hidden = torch.ones(n, k.shape[-2], dtype=torch.bool, device=q.device).triu(1)  # of all pairs
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(hidden[:, start : start + block], -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output, log
