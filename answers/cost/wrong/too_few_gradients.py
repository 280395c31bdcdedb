"""Returns gradients for some inputs only; and other things that are cut short."""

import math

import torch


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state = torch.get_rng_state()
            ctx.save_for_backward(*inputs)
            return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            fresh = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True)]
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh if x.grad is not None)

    return Twice.apply(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    return 4 * n * d_model**2, 4 * n**2 * d_model, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * (d_model // n_heads) * dtype.itemsize


def linformer_attention(q, k, v, e, f):
    rank = min(e.shape[0], k.shape[-2])
    return (q @ k[..., :rank, :].mT / math.sqrt(q.shape[-1])).softmax(-1) @ v[..., :rank, :]


def window_attention(q, k, v, window, dilation=1):
    window = min(window, q.shape[-2] // dilation)
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = memory.cumsum(-3), total.cumsum(-3)
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    output = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1)
    return output[:, :, -1:], (k, v)
