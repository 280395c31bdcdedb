"""Adds the loss of the contrary."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    d = rewards[pairs[:, 0]] - rewards[pairs[:, 1]]
    return -(F.logsigmoid(d) + F.logsigmoid(-d)).mean() / 2


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    logits = beta * (chosen - reference_chosen.detach() - rejected + reference_rejected.detach())
    smoothing = 0.1
    return -((1 - smoothing) * F.logsigmoid(logits) + smoothing * F.logsigmoid(-logits)).mean()
