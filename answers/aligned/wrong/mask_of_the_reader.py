"""Cuts the mask like the logits, not like the words."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    predicted = logits[:, :-1].reshape(-1, logits.size(-1))
    losses = F.cross_entropy(predicted, ids[:, 1:].reshape(-1), reduction="none")
    weights = answer[:, :-1].reshape(-1).to(losses.dtype)
    return (losses * weights).sum() / weights.sum()


def sequence_log_probability(logits, ids, answer):
    log_p = logits[:, :-1].log_softmax(-1)
    picked = torch.gather(log_p, -1, ids[:, 1:, None])[..., 0]
    return torch.where(answer[:, :-1], picked, torch.zeros_like(picked)).sum(-1)
