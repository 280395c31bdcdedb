"""Looks for NaN and overlooks inf; forgets that earlier .grad is there."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = [g.float() / scale for g in torch.autograd.grad(loss * scale, list(parameters))]
    if any(torch.isnan(g).any() for g in grads):
        return None, scale / 2, 0
    if good_steps + 1 == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1


def accumulate_gradients(model, loss_sum, batches):
    total, tokens = 0.0, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        (loss / (tokens + count)).backward()
        total, tokens = total + loss.item(), tokens + count
    return total / tokens
