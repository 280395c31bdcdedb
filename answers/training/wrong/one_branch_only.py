"""Half done: one branch of the schedule, one of the three results, one of the batches."""

import torch


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps)


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    return [g / scale for g in grads], scale, good_steps + 1


def clip_gradients(grads, max_norm):
    norm = grads[0].norm()
    return [g * min(1.0, float(max_norm / norm)) if norm > 0 else g for g in grads], norm


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    for batch in batches:
        loss, n = loss_sum(model, batch)
        mean = loss / n
        mean.backward()
        return mean.item()
