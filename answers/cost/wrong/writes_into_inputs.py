"""Right numbers, but what was given is changed."""

import math

import torch
import torch.nn.functional as F


def window_attention(q, k, v, window, dilation=1):
    q /= math.sqrt(q.shape[-1])
    seen = torch.arange(q.shape[-2], device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.clamp(min=0), :] for t in (k, v))
    scores = (q.unsqueeze(-2) * keys).sum(-1)
    return (scores.masked_fill(seen < 0, -torch.inf).softmax(-1).unsqueeze(-1) * values).sum(-2)


def linformer_attention(q, k, v, e, f):
    with torch.no_grad():
        e.div_(math.sqrt(q.shape[-1]))
    return (q @ (e @ k).mT).softmax(-1) @ (f @ v)


def linear_attention(q, k, v, causal=False):
    with torch.no_grad():
        F.elu_(q).add_(1)
        F.elu_(k).add_(1)
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def tiled_attention(q, k, v, block, causal=False):
    with torch.no_grad():
        q.mul_(q.shape[-1] ** -0.5)
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output, log


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
            return tuple(x.grad for x in fresh)

    for x in inputs:
        if x.is_floating_point() and x.is_leaf:
            x.requires_grad_()
    return Twice.apply(*inputs)


def cached_attention(q, k, v, cache=None):
    new = q.shape[2]
    if cache is None:
        cache = k.new_zeros(*k.shape[:2], 0, k.shape[3]), v.new_zeros(*v.shape[:2], 0, v.shape[3])
    for old, fresh in zip(cache, (k, v), strict=True):
        old.set_(torch.cat([old, fresh], 2).detach())
    k, v = cache
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(share, 1).mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - new + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v.repeat_interleave(share, 1), cache
