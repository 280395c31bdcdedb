"""eps outside of the divisor; a base rate of one; ε/(K - 1) for everybody; the scale one step late."""

import torch


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * torch.square(grad)
    change = rate * m / (1 - beta1**step) / torch.sqrt(v / (1 - beta2**step)) + eps
    return p - change, m, v


def noam_rate(step, d_model, warmup):
    return min((step / warmup), (warmup / step) ** 0.5)


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    log_p = torch.log_softmax(logits, -1)
    classes = logits.shape[-1]
    keep = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    hot = torch.nn.functional.one_hot(targets.where(keep, 0), classes)
    wanted = torch.add(torch.mul(hot, 1 - epsilon), epsilon / (classes - 1))
    return -(wanted * log_p).sum(-1)[keep].mean()


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    grads = [g.float() / scale for g in torch.autograd.grad(loss * scale, list(parameters))]
    if not all(g.isfinite().all() for g in grads):
        return None, scale / 2, 0
    if good_steps == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
