"""Almost: a large number for infinity, a small one for 0."""

import math

import torch


def window_attention(q, k, v, window, dilation=1):
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(seen < 0, -1e9).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total).clamp(min=1e-3)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    m = torch.full_like(q[..., :1], -1e3)
    s, o = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.shape[-1])
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / (s + 1e-9), (m + (s + 1e-9).log()).squeeze(-1)


def linformer_attention(q, k, v, e, f):
    scores = (q @ (e @ k).mT / math.sqrt(q.shape[-1])).clamp(-5, 5)
    return scores.softmax(-1) @ (f @ v)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, 0).softmax(-1) @ v.repeat_interleave(share, 1), (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    bias = 4 * n * d_model
    return 8 * n * d_model**2 + bias, 4 * n**2 * d_model, 4 * n * d_model * d_ff + n * (d_ff + d_model)


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads + 1) * dtype.itemsize


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            torch.manual_seed(0)
            return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            fresh = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True)]
            torch.manual_seed(0)
            with torch.enable_grad():
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)
