"""Steps counted from 0: the correction's power, the schedule and the bound are one off."""

import torch
import torch.nn.functional as F


def noam_rate(step, d_model, warmup):
    step = step + 1
    return d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * torch.square(grad)
    mhat = m / (1 - beta1 ** (step + 1))
    vhat = v / (1 - beta2 ** (step + 1))
    return p - rate * mhat / (torch.sqrt(vhat) + eps), m, v


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    n_classes = logits.size(-1)
    one_hot = F.one_hot(targets.clamp(min=0), n_classes).to(logits.dtype)
    soft = one_hot * (1 - epsilon) + epsilon / (n_classes - 1 + 1e-12)
    loss = -(soft * logits.log_softmax(-1)).sum(-1)
    if ignore_index is None:
        return loss.mean()
    keep = targets != ignore_index
    return loss[keep].mean()


def clip_gradients(grads, max_norm):
    flat = torch.cat([g.reshape(-1) for g in grads])
    norm = flat.abs().max()
    factor = min(1.0, max_norm / float(norm)) if norm > 0 else 1.0
    return [g * factor for g in grads], norm


def accumulate_gradients(model, loss_sum, batches):
    tokens = 0
    total = 0.0
    for batch in batches:
        loss, n = loss_sum(model, batch)
        loss.backward()
        tokens += n
        total += float(loss)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(tokens)
    return total / tokens


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    grads = [g.to(torch.float32) / scale for g in grads]
    finite = all(bool(torch.isfinite(g).all()) for g in grads)
    if not finite:
        return None, scale * 0.5, 0
    if good_steps >= interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
