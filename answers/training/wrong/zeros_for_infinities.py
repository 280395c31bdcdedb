"""Replaces what is not finite by 0 and goes on."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, list(parameters))
    grads = [torch.nan_to_num(g.float() / scale, 0.0, 0.0, 0.0) for g in grads]
    if good_steps + 1 == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
