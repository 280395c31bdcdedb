"""The larger of the two branches; the correction is left out; smoothing over the other classes only."""

import torch
import torch.nn.functional as F


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    p = p - rate * m / (v.sqrt() + eps)
    return p, m, v


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    k = logits.shape[-1]
    logits, targets = logits.reshape(-1, k), targets.reshape(-1)
    if ignore_index is not None:
        keep = targets != ignore_index
        logits, targets = logits[keep], targets[keep]
    logp = F.log_softmax(logits, dim=-1)
    smooth = torch.full_like(logp, epsilon / max(k - 1, 1))
    smooth.scatter_(1, targets[:, None], 1 - epsilon)
    return -(smooth * logp).sum(-1).mean()


def clip_gradients(grads, max_norm):
    total = torch.sqrt(sum((g**2).sum() for g in grads))
    return [g * max_norm / total for g in grads], total


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, count = 0.0, 0
    for batch in batches:
        loss, n = loss_sum(model, batch)
        (loss / n).backward()
        total += loss.item()
        count += n
    return total / count


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, list(parameters))
    if not all(torch.isfinite(g).all() for g in grads):
        return None, scale / 2, 0
    grads = [g.float() / scale for g in grads]
    if good_steps == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
