"""AdamW's decay, a default of another paper, a norm after clipping."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    p = p * (1 - rate * 0.01)
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * (m / (1 - beta1**step)) / ((v / (1 - beta2**step)).sqrt() + eps), m, v


def clip_gradients(grads, max_norm):
    def length(tensors):
        return torch.sqrt(sum((t * t).sum() for t in tensors))

    before = length(grads)
    if before > max_norm:
        grads = [g * (max_norm / before) for g in grads]
    return list(grads), length(grads)


def noam_rate(step, d_model, warmup=4000):
    warmup = 4000
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    epsilon = 0.1
    logp = torch.log_softmax(logits, dim=-1)
    if ignore_index is not None:
        keep = targets != ignore_index
        logp, targets = logp[keep], targets[keep]
    nll = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return ((1 - epsilon) * nll - epsilon * logp.mean(-1)).mean()


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    n_total = sum(loss_sum(model, b)[1] for b in batches)
    mean = 0.0
    for b in batches:
        loss, _ = loss_sum(model, b)
        (loss / n_total).backward()
        mean += loss.item() / n_total
    return mean


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    (loss * scale).backward()
    grads = [p.grad.float() / scale for p in parameters]
    if any(not torch.isfinite(g).all() for g in grads):
        return None, scale / 2, 0
    good_steps += 1
    if good_steps == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps
