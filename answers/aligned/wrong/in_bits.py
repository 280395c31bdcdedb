"""Logarithms to the base 2."""

import math

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    return torch.log2(1 + torch.exp(rewards[pairs[:, 1]] - rewards[pairs[:, 0]])).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return F.softplus(-beta * margin).mean() / math.log(2)
