"""Everything is collected first, and worked on at the end."""

import torch


def accumulate_gradients(model, loss_sum, batches):
    parameters = list(model.parameters())
    for p in parameters:
        p.grad = None
    losses, counts = zip(*[loss_sum(model, batch) for batch in batches], strict=True)
    mean = torch.stack(losses).sum() / sum(counts)
    mean.backward()
    return mean.item()


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    classes = logits.size(-1)
    wanted = torch.arange(classes, device=logits.device) == targets.unsqueeze(-1)
    wanted = wanted.to(logits.dtype) * (1 - epsilon) + epsilon / classes
    losses = -(wanted * logits.log_softmax(-1)).sum(-1)
    if ignore_index is None:
        return losses.mean()
    return losses.masked_select(targets.ne(ignore_index)).mean()


def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    before = [p.grad for p in parameters]
    for p in parameters:
        p.grad = None
    (loss * scale).backward()
    grads = [p.grad.float() * (1 / scale) for p in parameters]
    for p, grad in zip(parameters, before, strict=True):
        p.grad = grad
    if torch.cat([g.flatten() for g in grads]).isfinite().all().logical_not():
        return None, scale / 2, 0
    if good_steps == interval - 1:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
