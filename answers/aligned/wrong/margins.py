"""Wants a margin, and no more."""

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    winner, loser = rewards[pairs[:, 0]], rewards[pairs[:, 1]]
    return F.margin_ranking_loss(winner, loser, torch.ones_like(winner), margin=1.0)


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = beta * (chosen - rejected - (reference_chosen - reference_rejected).detach())
    return torch.clamp(1.0 - margin, min=0.0).mean()
