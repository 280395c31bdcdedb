"""Treats every input as a floating leaf that needs a gradient."""

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
            fresh = [x.detach().clone().requires_grad_(True) for x in ctx.saved_tensors]
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.state)
                output = function(*fresh)
            return torch.autograd.grad(output, fresh, gradient)

    return Twice.apply(*inputs)
