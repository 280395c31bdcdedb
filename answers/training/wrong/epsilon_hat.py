"""eps beside the uncorrected root; a peak that is the base rate; smoothing with 1/K; lengths one by one."""

import math

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad * grad
    size = rate * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    return p - size * m / (torch.sqrt(v) + eps), m, v


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * warmup**0.5 * min(step**-0.5, step * warmup**-1.5)


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    log_p = torch.log_softmax(logits, -1)
    classes = logits.shape[-1]
    keep = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    hot = torch.nn.functional.one_hot(targets.where(keep, 0), classes)
    wanted = hot * (1 - epsilon) + 1 / classes
    return -(wanted * log_p).sum(-1)[keep].mean()


def clip_gradients(grads, max_norm):
    clipped = []
    for grad in grads:
        norm = grad.norm()
        clipped.append(grad * (max_norm / norm) if norm > max_norm else grad.clone())
    return clipped, norm


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    (loss * scale).backward()
    grads = [p.grad.float() / scale for p in parameters]
    if not all(g.isfinite().all() for g in grads):
        return None, scale / 2, 0
    return (grads, scale * 2, 0) if good_steps + 1 == interval else (grads, scale, good_steps + 1)
