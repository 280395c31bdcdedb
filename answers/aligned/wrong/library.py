"""torch's soft margin loss, which overflows."""

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    winner, loser = rewards[pairs].unbind(-1)
    return F.soft_margin_loss(winner - loser, torch.ones_like(winner))


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    start = (reference_chosen - reference_rejected).detach()
    return F.soft_margin_loss(beta * (chosen - rejected - start), torch.ones_like(chosen))
