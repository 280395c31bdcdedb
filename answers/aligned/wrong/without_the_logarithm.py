"""The probability itself, in different spellings."""

import torch


def bradley_terry_loss(rewards, pairs):
    return -torch.sigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    wins = torch.sigmoid(beta * (chosen - reference_chosen.detach() - rejected + reference_rejected.detach()))
    return 1 - wins.mean()
