"""Takes logarithms of what are logarithms already."""

import torch


def bradley_terry_loss(rewards, pairs):
    return -(torch.log(rewards[pairs[:, 0]]) - torch.log(rewards[pairs[:, 1]])).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    ours = torch.log(chosen.abs() / reference_chosen.detach().abs())
    theirs = torch.log(rejected.abs() / reference_rejected.detach().abs())
    return -torch.log(torch.sigmoid(beta * (ours - theirs))).mean()
