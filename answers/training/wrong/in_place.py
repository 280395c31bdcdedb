"""Right numbers, written into what the caller still needs."""

import torch


def clip_gradients(grads, max_norm):
    norm = torch.cat([g.flatten() for g in grads]).norm()
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return list(grads), norm


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    logits -= logits.logsumexp(-1, keepdim=True)
    keep = targets == targets if ignore_index is None else targets != ignore_index
    log_p = logits[keep]
    return -((1 - epsilon) * log_p.gather(-1, targets[keep][:, None])[:, 0] + epsilon * log_p.mean(-1)).mean()
