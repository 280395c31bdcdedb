"""Corrects the mean of the gradient, forgets that of its square; clips by the largest entry."""


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * (m / (1 - beta1**step)) / (v.sqrt() + eps), m, v


def clip_gradients(grads, max_norm):
    norm = max(g.abs().max() for g in grads)
    return [g * (max_norm / norm) if norm > max_norm else g.clone() for g in grads], norm
