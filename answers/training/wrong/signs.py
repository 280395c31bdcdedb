"""Only signs: the first step of Adam, for ever."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * torch.sign(m), m, v


def clip_gradients(grads, max_norm):
    norm = torch.cat([g.flatten() for g in grads]).norm()
    return [g / norm * max_norm if norm > max_norm else g.sign() * 0 for g in grads], norm
