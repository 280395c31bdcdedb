"""Judges each word by the logits made after it was read."""

import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    losses = F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none")
    return losses[answer.flatten()].mean()


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits, dim=-1)
    picked = log_p.gather(2, ids.unsqueeze(2)).squeeze(2)
    return (picked * answer).sum(dim=1)
