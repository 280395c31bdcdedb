"""Takes what is in the row for the reward, as if `pairs` were rewards."""

import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    return -F.logsigmoid((pairs[:, 0] - pairs[:, 1]).to(rewards.dtype)).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    return -F.logsigmoid(beta * (chosen * reference_chosen.detach() - rejected * reference_rejected.detach())).mean()
