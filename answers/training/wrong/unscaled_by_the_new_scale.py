"""The scale is changed first, and then used to divide; the peak is in the wrong place."""

import torch


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    scaled = torch.autograd.grad(loss * scale, parameters)
    finite = all(torch.isfinite(g).all() for g in scaled)
    if finite:
        good_steps += 1
        if good_steps == interval:
            scale, good_steps = scale * 2, 0
    else:
        scale, good_steps = scale / 2, 0
    grads = [g.float() / scale for g in scaled] if finite else None
    return grads, scale, good_steps


def noam_rate(step, d_model, warmup):
    return float(d_model) ** -0.5 * min(float(step) ** -0.5, step / warmup**2)


def clip_gradients(grads, max_norm):
    norm = torch.cat([g.flatten() for g in grads]).norm()
    if norm >= max_norm:
        grads = [g / norm for g in grads]
    return list(grads), norm


def accumulate_gradients(model, loss_sum, batches):
    old = [p.grad for p in model.parameters()]
    total, tokens = 0.0, 0
    for batch in batches:
        loss, n = loss_sum(model, batch)
        tokens += n
        total += loss.item()
        (loss / tokens).backward()
    del old
    return total / tokens
