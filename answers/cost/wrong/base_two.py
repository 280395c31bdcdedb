"""Powers and logarithms of 2, a maximum in the wrong place, heads dealt out by remainder."""

import math

import torch


def tiled_attention(q, k, v, block, causal=False):
    output, log = 0, q.new_full(q.shape[:-1], -torch.inf)
    row = torch.arange(q.shape[-2], device=q.device)[:, None]
    for start in range(0, k.shape[-2], block):
        keys, values = k[..., start : start + block, :], v[..., start : start + block, :]
        z = q @ keys.mT / math.sqrt(q.shape[-1])
        if causal:
            z = z.masked_fill(start + torch.arange(keys.shape[-2], device=q.device) > row, -torch.inf)
        new = torch.logaddexp(log, z.logsumexp(-1))
        output = output * (log - new).exp()[..., None] + (z - new[..., None]).exp() @ values
        log = new
    return output, log / math.log(2)


def window_attention(q, k, v, window, dilation=1):
    n = q.shape[-2]
    seen = torch.arange(n, device=q.device)[:, None] - dilation * torch.arange(window, device=q.device)
    keys, values = (t[..., seen.remainder(n), :] for t in (k, v))  # goes on at the end
    scores = (q.unsqueeze(-2) * keys).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(-1).unsqueeze(-1) * values).sum(-2)


def linear_attention(q, k, v, causal=False):
    q, k = torch.nn.functional.elu(q + 1), torch.nn.functional.elu(k + 1)
    memory, total = k.unsqueeze(-1) * v.unsqueeze(-2), k.unsqueeze(-1)
    memory, total = (t.cumsum(-3) if causal else t.sum(-3, keepdim=True) for t in (memory, total))
    return ((q.unsqueeze(-2) @ memory) / (q.unsqueeze(-2) @ total)).squeeze(-2)


def linformer_attention(q, k, v, e, f):
    scores = q @ (e @ k).mT / math.sqrt(q.shape[-1])
    return (2**scores / (2**scores).sum(-1, keepdim=True)) @ (f @ v)


def cached_attention(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    group = torch.arange(q.shape[1], device=q.device) % k.shape[1]
    scores = q @ k[:, group].mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(k.shape[2] - q.shape[2] + 1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v[:, group], (k, v)


def layer_flops(n, d_model, n_heads, d_ff):
    return 2 * n * d_model**2, 4 * n**2 * d_model, 2 * n * d_model * d_ff


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * dtype.itemsize // 1024


def checkpointed(function, *inputs):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.state = torch.get_rng_state()
            ctx.save_for_backward(*inputs)
            return function(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            grads = []
            for i, x in enumerate(ctx.saved_tensors):
                if not ctx.needs_input_grad[i]:
                    grads.append(None)
                    continue
                fresh = [t.detach() for t in ctx.saved_tensors]  # one call for each input
                fresh[i] = x.detach().requires_grad_()
                with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                    torch.set_rng_state(ctx.state)
                    output = function(*fresh)
                    if output.requires_grad:
                        output.backward(gradient)
                grads.append(fresh[i].grad)
            return tuple(grads)

    return Twice.apply(*inputs)
