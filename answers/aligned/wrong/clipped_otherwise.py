"""Cuts something else."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Cuts the difference of the logarithms."""
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    log_ratio = now - before
    ratio, cut = log_ratio.exp(), log_ratio.clamp(-clip, clip).exp()
    d = start - now
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, cut * gain)).mean()


def group_advantages(rewards, eps=1e-4):
    """Cuts advantages to ±1."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    return ((x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps)).clamp(-1, 1)


def pass_at_k(n, right, k):
    """Cuts what exceeds 1."""
    return min(1.0, right * k / n)


def majority_vote(answers, weights=None):
    """Counts votes of 1 and more only."""
    totals = {}
    for i, answer in enumerate(answers):
        if answer is not None and (weights is None or weights[i] >= 1):
            totals[answer] = totals.get(answer, 0) + (1 if weights is None else weights[i])
    return max(totals, key=totals.get, default=None)
