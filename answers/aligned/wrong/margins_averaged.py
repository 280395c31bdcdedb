"""The sigmoid of the mean margin."""

import torch.nn.functional as F


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    reference_chosen, reference_rejected = reference_chosen.detach(), reference_rejected.detach()
    h = (chosen - reference_chosen) - (rejected - reference_rejected)
    loss = -F.logsigmoid(beta * h.mean())
    return loss.mean()
