"""Uphill: p plus the step; a loss without its minus."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.pow(2)
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return p + rate * m_hat / (v_hat.sqrt() + eps), m, v


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logp = logits.log_softmax(-1)
    valid = torch.ones_like(targets).bool() if ignore_index is None else targets != ignore_index
    idx = targets.masked_fill(~valid, 0)
    t = torch.zeros_like(logp).scatter(-1, idx.unsqueeze(-1), 1.0)
    t = (1 - epsilon) * t + epsilon / logits.shape[-1]
    ce = (t * logp).sum(-1)
    return ce[valid].sum() / valid.sum()


def noam_rate(step, d_model, warmup):
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


def clip_gradients(grads, max_norm):
    norm = torch.sqrt(sum((g**2).sum() for g in grads))
    factor = 1.0
    if norm < max_norm:
        factor = max_norm / norm
    return [g * factor for g in grads], norm


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, tokens = 0.0, 0
    for batch in batches:
        model.zero_grad()
        loss, n = loss_sum(model, batch)
        loss.backward()
        total += loss.item()
        tokens += n
    for p in model.parameters():
        p.grad /= tokens
    return total / tokens


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    ok = all(torch.isfinite(g).all().item() for g in grads)
    if ok:
        good_steps += 1
        new_scale = scale / 2 if good_steps == interval else scale
        return [g.float() / scale for g in grads], new_scale, 0 if good_steps == interval else good_steps
    return None, scale * 2, 0
