"""Unscaled before the cast: what is small is lost again; a count that is never reset."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    if any(not g.isfinite().all() for g in grads):
        return None, scale / 2, good_steps
    grads = [(g / scale).float() for g in grads]
    good_steps += 1
    if good_steps % interval == 0:
        scale = scale * 2
    return grads, scale, good_steps


def noam_rate(step, d_model, warmup):
    if step <= warmup:
        return d_model**-0.5 * step / warmup
    return (d_model * step) ** -0.5


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps), m, v


def clip_gradients(grads, max_norm):
    norm = torch.sqrt(torch.stack([g.pow(2).sum() for g in grads]).sum())
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return list(grads), norm


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    losses, counts = zip(*[loss_sum(model, b) for b in batches], strict=True)
    loss = sum(losses) / sum(counts)
    return loss.item()


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    k = logits.shape[-1]
    logp = torch.log_softmax(logits.reshape(-1, k), 1)
    t = targets.reshape(-1)
    if ignore_index is not None:
        logp, t = logp[t != ignore_index], t[t != ignore_index]
    dist = torch.full_like(logp, epsilon)
    dist[torch.arange(len(t)), t] = 1 - epsilon
    return -(dist * logp).sum(1).mean()
