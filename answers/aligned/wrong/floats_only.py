""""""

import torch


def group_advantages(rewards, eps=1e-4):
    rewards = rewards.detach()
    return (rewards - rewards.mean(-1, keepdim=True)) / (rewards.std(-1, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Knows no mask but a float one."""
    kept = answer.float()[:, 1:]
    ratio = (new - old.detach())[:, 1:].exp() ** kept
    gain = advantages.detach()[:, None] * kept
    d = (reference.detach() - new)[:, 1:] * kept
    return (
        kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    ).sum() / kept.sum()


def majority_vote(answers, weights=None):
    """Sorts, and so compares what can't be compared."""
    voting = sorted(a for a in answers if a is not None)
    return max(voting, key=voting.count) if voting else None
