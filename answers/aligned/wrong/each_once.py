"""Counts the same comparison once."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    different = pairs.unique(dim=0)
    return -F.logsigmoid(rewards[different[:, 0]] - rewards[different[:, 1]]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    gain = chosen - reference_chosen.detach()
    loss = rejected - reference_rejected.detach()
    return -(F.logsigmoid(beta * gain) + F.logsigmoid(-beta * loss)).mean()
