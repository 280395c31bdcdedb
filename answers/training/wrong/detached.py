"""Right numbers, cut off from the graph."""

import torch
import torch.nn.functional as F


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    keep = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    log_p = F.log_softmax(logits, -1)[keep]
    each = (1 - epsilon) * log_p.gather(-1, targets[keep][:, None])[:, 0] + epsilon * log_p.mean(-1)
    return torch.tensor(-each.mean().item(), dtype=logits.dtype)


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, tokens = 0.0, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        total, tokens = total + loss.detach(), tokens + count
    return float(total / tokens)
