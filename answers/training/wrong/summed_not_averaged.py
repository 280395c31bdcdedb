"""A sum is returned where a mean is asked for."""

import torch


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logp = torch.log_softmax(logits, -1)
    keep = torch.ones(targets.shape, dtype=torch.bool) if ignore_index is None else targets.ne(ignore_index)
    targets = torch.where(keep, targets, 0)
    nll = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    smooth = -logp.mean(-1)
    loss = (1 - epsilon) * nll + epsilon * smooth
    return (loss * keep).sum()


def accumulate_gradients(model, loss_sum, batches):
    for p in model.parameters():
        p.grad = None
    total = 0.0
    count = 0
    for b in batches:
        loss, n = loss_sum(model, b)
        loss.backward()
        total += loss.item()
        count += n
    return total / count


def clip_gradients(grads, max_norm):
    norm = sum(g.norm() for g in grads)
    if norm > max_norm:
        return [g / norm * max_norm for g in grads], norm
    return list(grads), norm


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + grad
    v = beta2 * v + grad * grad
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps), m, v


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    gradients = torch.autograd.grad(scale * loss, parameters)
    unscaled = [g.float() for g in gradients]
    if all(g.isfinite().all() for g in unscaled):
        good_steps += 1
        if good_steps >= interval:
            return unscaled, scale * 2, 0
        return unscaled, scale, good_steps
    return None, scale / 2, 0
