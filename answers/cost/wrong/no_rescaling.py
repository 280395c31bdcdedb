"""The running maximum changes, what was summed under the old one does not."""

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
        m = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - m).exp()
        o, s = o + p @ values, s + p.sum(-1, keepdim=True)
    return o / s, (m + s.log()).squeeze(-1)


def window_attention(q, k, v, window, dilation=1):
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    weights = ((q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])).softmax(-1)
    return ((weights * (seen >= 0)).unsqueeze(-1) * values).sum(-2)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    memory = k.unsqueeze(-1) * v.unsqueeze(-2)
    memory = memory.cumsum(-3) if causal else memory.sum(-3, keepdim=True)
    return (q.unsqueeze(-2) @ memory).squeeze(-2)


def linformer_attention(q, k, v, e, f):
    e, f = e.softmax(-1), f.softmax(-1)
    return (q @ (e @ k).mT / math.sqrt(q.shape[-1])).softmax(-1) @ (f @ v)


def cached_attention(q, k, v, cache=None):
    share = q.shape[1] // k.shape[1]
    outputs = []
    for keys, values in [(k, v)] if cache is None else [cache, (k, v)]:
        if keys.shape[2] == 0:
            continue
        scores = q @ keys.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
        if keys is k:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=q.device).triu(1).bool(), -torch.inf)
        outputs.append(scores.softmax(-1) @ values.repeat_interleave(share, 1))
    whole = (k, v) if cache is None else (torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2))
    return torch.stack(outputs).mean(0), whole


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
            torch.set_rng_state(ctx.state)
            with torch.enable_grad():
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2, 2 * n**2 * d_model + 2 * n * d_model, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize * 8
