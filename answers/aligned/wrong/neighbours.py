"""Compares each with the one behind it."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    return -F.logsigmoid(rewards[:-1] - rewards[1:]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    gains = beta * (chosen - reference_chosen.detach())
    return -F.logsigmoid(gains - gains.roll(1)).mean()
