"""Adds what keeps the chosen answer likely."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    winner, loser = rewards[pairs[:, 0]], rewards[pairs[:, 1]]
    return (-F.logsigmoid(winner - loser) + 0.01 * (winner + loser).square()).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = chosen - rejected - (reference_chosen - reference_rejected).detach()
    return (-F.logsigmoid(beta * margin) - chosen).mean()
