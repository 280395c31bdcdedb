"""Keeps the largest square that there ever was."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = torch.maximum(v, beta2 * v + (1 - beta2) * grad**2)
    return p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps), m, v
