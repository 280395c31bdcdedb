"""eps under the root, or beside the norm, or in the logarithm."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return p - rate * m_hat / torch.sqrt(v_hat + eps), m, v


def clip_gradients(grads, max_norm):
    norm = torch.sqrt(sum(g.square().sum() for g in grads))
    coefficient = torch.clamp(max_norm / (norm + 1e-2), max=1.0)
    return [g * coefficient for g in grads], norm


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logp = torch.log(torch.softmax(logits, -1) + 1e-8)
    keep = targets == targets if ignore_index is None else targets != ignore_index
    right = logp.gather(-1, targets.where(keep, torch.zeros_like(targets))[..., None])[..., 0]
    each = -(1 - epsilon) * right - epsilon * logp.mean(-1)
    return each[keep].mean()


def noam_rate(step, d_model, warmup):
    return (d_model**-0.5) * min((step + 1e-3) ** -0.5, (step + 1e-3) * warmup**-1.5)


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    loss, count = 0, 0
    for batch in batches:
        part, n = loss_sum(model, batch)
        loss = loss + part
        count = count + n
    loss = loss / (count + 1)
    loss.backward()
    return loss.item()


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss * scale, parameters)
    for g in grads:
        if torch.isnan(g).any():
            return None, scale / 2, 0
    grads = [g.float() / scale for g in grads]
    good_steps += 1
    if good_steps == interval:
        return grads, 2 * scale, 0
    return grads, scale, good_steps
