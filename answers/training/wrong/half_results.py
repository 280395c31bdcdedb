"""Gradients stay in the dtype of the parameters."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = [g / scale for g in torch.autograd.grad(loss * scale, list(parameters))]
    if not all(g.isfinite().all() for g in grads):
        return None, scale / 2, 0
    if good_steps + 1 == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
