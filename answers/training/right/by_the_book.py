"""torch's own tools where they are allowed."""

import torch
import torch.nn.functional as F


def noam_rate(step, d_model, warmup):
    return (d_model * max(step, warmup**3 / step**2)) ** -0.5


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    log_p = F.log_softmax(logits.reshape(-1, logits.shape[-1]), dim=-1)
    targets = targets.reshape(-1)
    keep = torch.ones_like(targets).bool() if ignore_index is None else targets != ignore_index
    safe = torch.where(keep, targets, 0)
    each = -(1 - epsilon) * log_p.gather(1, safe[:, None])[:, 0] - epsilon * log_p.mean(1)
    return (each * keep).sum() / keep.sum()


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad(set_to_none=True)
    total, tokens = torch.zeros(()), 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        loss.backward()
        total = total + loss.detach()
        tokens = tokens + count
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(tokens)
    return total / tokens


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = torch.lerp(m, grad, 1 - beta1)
    v = torch.addcmul(beta2 * v, grad, grad, value=1 - beta2)
    denominator = v.sqrt() / (1 - beta2**step) ** 0.5 + eps
    return torch.addcdiv(p, m, denominator, value=-rate / (1 - beta1**step)), m, v


def clip_gradients(grads, max_norm):
    norm = torch.nn.utils.get_total_norm(grads)
    if norm <= max_norm:
        return [g.clone() for g in grads], norm
    return [g.mul(max_norm).div(norm) for g in grads], norm


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = torch.autograd.grad(torch.mul(loss, scale), tuple(parameters))
    if any(not torch.isfinite(g).all() for g in grads):
        return None, scale * 0.5, 0
    grads = [g.to(torch.float32) / scale for g in grads]
    good_steps += 1
    if good_steps >= interval:
        return grads, scale * 2.0, 0
    return grads, scale, good_steps
