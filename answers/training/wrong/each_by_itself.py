"""Each tensor is clipped by itself; each batch is averaged by itself; each sequence, too."""

import torch


def clip_gradients(grads, max_norm):
    clipped, norms = [], []
    for g in grads:
        n = g.norm()
        norms.append(n)
        clipped.append(g * torch.clamp(max_norm / n, max=1.0) if n > 0 else g)
    return clipped, torch.stack(norms).norm()


def accumulate_gradients(model, loss_sum, batches):
    for p in model.parameters():
        p.grad = None
    losses = []
    for batch in batches:
        loss, n = loss_sum(model, batch)
        mean = loss / n
        mean.backward()
        losses.append(mean.item())
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= len(losses)
    return sum(losses) / len(losses)


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logp = logits - logits.logsumexp(-1, keepdim=True)
    safe = targets if ignore_index is None else targets.masked_fill(targets == ignore_index, 0)
    picked = logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    loss = -(1 - epsilon) * picked - epsilon * logp.mean(-1)
    if ignore_index is not None:
        loss = loss * (targets != ignore_index)
    return loss.mean()


def noam_rate(step, d_model, warmup):
    if step < warmup:
        return step / warmup
    return d_model**-0.5 * step**-0.5


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    new_m = m * beta1 + grad * (1 - beta1)
    new_v = v * beta2 + grad * grad * (1 - beta2)
    m_hat = new_m / (1 - beta1**step)
    v_hat = new_v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps), m_hat, v_hat


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = []
    for g in torch.autograd.grad(loss * scale, parameters):
        if torch.isfinite(g).all():
            grads.append(g.float() / scale)
        else:
            grads.append(None)
    if any(g is None for g in grads):
        return grads, scale / 2, 0
    good_steps += 1
    if good_steps >= interval:
        scale, good_steps = scale * 2, 0
    return grads, scale, good_steps
