"""Momentum without the square; a clip that divides by the wrong norm."""


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * m / (1 - beta1**step), m, v


def clip_gradients(grads, max_norm):
    norm = sum(g.abs().sum() for g in grads)
    return [g * min(1.0, max_norm / float(norm)) if norm > 0 else g for g in grads], norm
