"""Uses half of what is given."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    others = rewards.mean()
    return -F.logsigmoid(rewards[pairs[:, 0]] - others).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    return -F.logsigmoid(beta * (chosen - rejected - reference_chosen.detach())).mean()
