"""torch's own thing in place of the exercise, or wrapped around it."""

import torch
import torch.nn.functional as F


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    index = -100 if ignore_index is None else ignore_index
    flat = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(flat, targets.reshape(-1), label_smoothing=epsilon, ignore_index=index)


def clip_gradients(grads, max_norm):
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [p.grad for p in parameters], norm


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    parameter = torch.nn.Parameter(p.clone())
    parameter.grad = grad
    torch.optim.Adam([parameter], lr=rate, betas=(beta1, beta2), eps=eps).step()
    return parameter.detach(), m, v
