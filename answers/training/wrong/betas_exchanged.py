"""The two betas change places; the old mean and the new gradient, too."""

import torch
import torch.nn.functional as F


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = (1 - beta1) * m + beta1 * grad
    v = (1 - beta2) * v + beta2 * grad**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    p = p - rate * m_hat / (torch.sqrt(v_hat) + eps)
    return p, m, v


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logp = F.log_softmax(logits, dim=-1)
    if ignore_index is not None:
        mask = targets != ignore_index
        logp, targets = logp[mask], targets[mask]
    nll = -logp.gather(-1, targets[..., None]).squeeze(-1)
    uniform = -logp.mean(dim=-1)
    return (epsilon * nll + (1 - epsilon) * uniform).mean()


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * min(warmup**-0.5, warmup * step**-1.5)


def clip_gradients(grads, max_norm):
    norm = torch.norm(torch.stack([g.norm() for g in grads]))
    factor = 1.0 if norm == 0 else max(1.0, float(max_norm / norm))
    return [factor * g for g in grads], norm


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    count, total = 0, 0.0
    for batch in batches:
        n, loss = loss_sum(model, batch)
        loss.backward()
        total, count = total + float(loss), count + n
    for p in model.parameters():
        p.grad = p.grad / count
    return total / count


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(loss / scale, parameters)
    grads = [g.float() * scale for g in grads]
    if not all(torch.isfinite(g).all() for g in grads):
        return None, scale / 2, 0
    if good_steps + 1 == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
