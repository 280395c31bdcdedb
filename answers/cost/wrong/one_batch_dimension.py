"""Unpacks three sizes where there may be two or four."""

import math

import torch
import torch.nn.functional as F


def window_attention(q, k, v, window, dilation=1):
    _batch, n, d = q.shape
    seen = torch.arange(n, device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    scores = torch.einsum("bnd,bnwd->bnw", q, k[:, seen.clamp(min=0)]) / math.sqrt(d)
    weights = scores.masked_fill(seen < 0, -torch.inf).softmax(-1)
    return torch.einsum("bnw,bnwd->bnd", weights, v[:, seen.clamp(min=0)])


def linformer_attention(q, k, v, e, f):
    keys, values = torch.einsum("rn,bnd->brd", e, k), torch.einsum("rn,bnd->brd", f, v)
    return torch.bmm((torch.bmm(q, keys.mT) / math.sqrt(q.shape[-1])).softmax(-1), values)


def linear_attention(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    if causal:
        memory = torch.einsum("bnd,bne->bnde", k, v).cumsum(1)
        return torch.einsum("bnd,bnde->bne", q, memory) / torch.einsum("bnd,bnd->bn", q, k.cumsum(1))[..., None]
    memory = torch.einsum("bnd,bne->bde", k, v)
    return torch.einsum("bnd,bde->bne", q, memory) / torch.einsum("bnd,bd->bn", q, k.sum(1))[..., None]


def tiled_attention(q, k, v, block, causal=False):
    batch, n, d = q.shape
    m = q.new_full((batch, n, 1), -torch.inf)
    s, o = torch.zeros_like(m), q.new_zeros(batch, n, v.shape[2])
    row = torch.arange(n, device=q.device)[:, None]
    for start in range(0, k.shape[1], block):
        keys, values = k[:, start : start + block], v[:, start : start + block]
        z = torch.bmm(q, keys.mT) / math.sqrt(d)
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[1], device=q.device) > row, -torch.inf)
        new = torch.maximum(m, z.amax(-1, keepdim=True))
        p = (z - new).exp()
        o, s, m = o * (m - new).exp() + p @ values, s * (m - new).exp() + p.sum(-1, keepdim=True), new
    return o / s, (m + s.log()).squeeze(-1)


def checkpointed(function, x):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.state = torch.get_rng_state()
            return function(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                function(x).backward(gradient)
            return x.grad

    return Twice.apply(x)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # as many groups as heads, or one
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v, (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 8 * n * d_model**2 + 4 * n**2 * d_model + 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, dtype=torch.float16):
    return 2 * n_layers * length * n_groups * (d_model // n_heads) * dtype.itemsize
