"""Forgets to record the second call; a state that is never used."""

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
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                output = function(*fresh)
            wanted = [x for x in fresh if x.requires_grad]
            found = iter(torch.autograd.grad(output, wanted, gradient, allow_unused=True))
            return tuple(next(found) if x.requires_grad else None for x in fresh)

    return Twice.apply(*inputs)


def layer_flops(n, d_model, n_heads, d_ff):
    return {"projections": 8 * n * d_model**2, "mixing": 4 * n**2 * d_model, "feed_forward": 4 * n * d_model * d_ff}


def cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch=1, dtype=torch.float16):
    sizes = {torch.float16: 2, torch.float32: 4, torch.float64: 8}
    return 2 * n_layers * batch * length * n_groups * (d_model // n_heads) * sizes[dtype]
