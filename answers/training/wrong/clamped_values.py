"""Clipping by value, not by norm; a warm-up without an end."""

import torch


def clip_gradients(grads, max_norm):
    norm = torch.sqrt(sum(g.pow(2).sum() for g in grads))
    return [g.clamp(-max_norm, max_norm) for g in grads], norm


def noam_rate(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min(1.0, step / warmup)


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    running = 0.0
    for i, batch in enumerate(batches, 1):
        loss, n = loss_sum(model, batch)
        mean = loss / n
        mean.backward()
        running += (mean.item() - running) / i
    return running


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    grads = [torch.nan_to_num(g.float() / scale) for g in grads]
    good_steps += 1
    if good_steps >= interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logits = logits.clamp(-50, 50)
    logp = logits - logits.exp().sum(-1, keepdim=True).log()
    if ignore_index is not None:
        keep = targets != ignore_index
        logp, targets = logp[keep], targets[keep]
    nll = -logp.gather(-1, targets[..., None])[..., 0]
    return ((1 - epsilon) * nll - epsilon * logp.mean(-1)).mean()


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = torch.maximum(beta2 * v, grad.abs())
    return p - rate / (1 - beta1**step) * m / (v + eps), m, v
