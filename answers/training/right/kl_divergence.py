"""Smoothing by the divergence and the entropy; gradients asked for one by one; idle parameters get zeros."""

import torch
import torch.nn.functional as F


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    log_p = F.log_softmax(logits.float(), dim=-1).flatten(0, -2) if logits.dim() > 1 else logits.float().log_softmax(-1)
    log_p, aims = log_p.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    if ignore_index is not None:
        log_p, aims = log_p[aims != ignore_index], aims[aims != ignore_index]
    wanted = torch.full_like(log_p, epsilon / logits.shape[-1])
    wanted.scatter_add_(1, aims[:, None], torch.full_like(wanted[:, :1], 1 - epsilon))
    entropy = -torch.special.xlogy(wanted, wanted).sum()
    return ((F.kl_div(log_p, wanted, reduction="sum") + entropy) / len(aims)).to(logits.dtype)


def accumulate_gradients(model, loss_sum, batches):
    parameters = list(model.parameters())
    sums = [torch.zeros_like(p) for p in parameters]
    total, tokens = 0.0, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        for held, grad in zip(sums, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True):
            if grad is not None:
                held += grad
        total, tokens = total + loss.detach(), tokens + count
    for parameter, held in zip(parameters, sums, strict=True):
        parameter.grad = held / tokens
    return total / tokens


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    for parameter in parameters:
        parameter.grad = None
    (loss * scale).backward()
    grads = [p.grad.to(torch.float32) / scale for p in parameters]
    if not torch.stack([g.isfinite().all() for g in grads]).all():
        return None, scale * 0.5, 0
    good_steps += 1
    return (grads, scale, good_steps) if good_steps < interval else (grads, scale * 2.0, 0)
