"""Looks at the first pair, or squeezes the batch away."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    winner, loser = pairs[0]
    return -F.logsigmoid(rewards[winner] - rewards[loser])


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = chosen - rejected - reference_chosen.detach() + reference_rejected.detach()
    return -F.logsigmoid(beta * margin.sum() / margin.numel())
