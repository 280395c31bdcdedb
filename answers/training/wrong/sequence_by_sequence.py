"""The mean of each sequence's mean: a short sequence counts as much as a long one."""

import torch


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    classes = logits.shape[-1]
    real = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    log_p = logits.log_softmax(-1)
    asked = log_p.gather(-1, targets.clamp(0, classes - 1).unsqueeze(-1)).squeeze(-1)
    loss = -((1 - epsilon) * asked + epsilon * log_p.mean(-1))
    in_each = (loss * real).sum(-1) / real.sum(-1).clamp_min(1)
    return in_each.mean()
