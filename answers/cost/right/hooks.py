"""A checkpoint without a function of autograd's own: a hook computes again when the gradient arrives."""

import torch


def checkpointed(function, *inputs):
    state = torch.get_rng_state()
    with torch.no_grad():
        output = function(*inputs)
    wanted = [x for x in inputs if torch.is_grad_enabled() and x.requires_grad]
    if not wanted:
        return output

    class Join(torch.autograd.Function):
        @staticmethod
        def forward(ctx, result, *wanted):
            return result.view_as(result)

        @staticmethod
        def backward(ctx, gradient):
            now = torch.get_rng_state()
            try:
                torch.set_rng_state(state)
                with torch.enable_grad():
                    fresh = [x.detach().requires_grad_(any(x is w for w in wanted)) for x in inputs]
                    again = function(*fresh)
            finally:
                torch.set_rng_state(now)
            leaves = [x for x in fresh if x.requires_grad]
            return None, *torch.autograd.grad([again], leaves, [gradient], allow_unused=True)

    return Join.apply(output, *wanted)
