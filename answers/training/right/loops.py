"""Numbers one after the other."""

import torch


def noam_rate(step, d_model, warmup):
    if step < warmup:
        rate = step / warmup / warmup**0.5
    else:
        rate = 1 / step**0.5
    return rate / d_model**0.5


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    losses = []
    for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), strict=True):
        if ignore_index is not None and logits.device.type != "meta" and int(target) == ignore_index:
            continue
        log_p = row - row.logsumexp(0)
        loss = 0.0
        for k in range(len(row)):
            loss = loss - epsilon / len(row) * log_p[k]
        losses.append(loss - (1 - epsilon) * log_p.index_select(0, target.reshape(1)).sum())
    return sum(losses) / len(losses)


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    shape = p.shape
    new_p, new_m, new_v = [], [], []
    for a, g, b, c in zip(p.flatten(), grad.flatten(), m.flatten(), v.flatten(), strict=True):
        b = b * beta1 + g * (1 - beta1)
        c = c * beta2 + g * g * (1 - beta2)
        new_p.append(a - rate * (b / (1 - beta1**step)) / ((c / (1 - beta2**step)) ** 0.5 + eps))
        new_m.append(b)
        new_v.append(c)
    return tuple(torch.stack(values).reshape(shape) for values in (new_p, new_m, new_v))


def clip_gradients(grads, max_norm):
    total = 0.0
    for grad in grads:
        for entry in grad.flatten().tolist():
            total += entry**2
    norm = total**0.5
    factor = 1.0
    if norm > max_norm:
        factor = max_norm / norm
    return [grad * factor for grad in grads], norm
