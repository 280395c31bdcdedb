"""Averages before the curve."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    means = rewards[pairs].mean(0)
    return F.softplus(means[1] - means[0])


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = (chosen - reference_chosen.detach()).mean() - (rejected - reference_rejected.detach()).mean()
    return F.softplus(-beta * margin)
