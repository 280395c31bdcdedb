"""Exponentials without a shift, or shifted by the wrong thing."""

import math

import torch


def linear_attention(q, k, v, causal=False):
    q, k = q.exp(), k.exp()
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    output, total = 0, 0
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        powers = (q @ keys.mT / math.sqrt(q.shape[-1])).exp()
        if causal:
            powers = powers * (start + torch.arange(keys.shape[-2], device=q.device) <= row)
        output, total = output + powers @ values, total + powers.sum(-1, keepdim=True)
    return output / total, total.log().squeeze(-1)


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            fresh = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True)]
            with torch.enable_grad():
                function(*fresh).backward(gradient)
            return tuple(x.grad for x in fresh)

    return Twice.apply(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    softmax = 5 * n_heads * n**2
    return 8 * n * d_model**2, 4 * n**2 * d_model + softmax, 4 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * 2
