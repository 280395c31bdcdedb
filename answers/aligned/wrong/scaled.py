"""A factor too many, or too few."""

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    d = rewards[pairs[:, 0]] - rewards[pairs[:, 1]]
    return -F.logsigmoid(d / rewards.std()).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -F.logsigmoid(margin).mean() / beta


def group_advantages(rewards, eps=1e-4):
    """Between 0 and 1."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Normalises the advantages once more."""
    kept = answer[:, 1:]
    gain = advantages.detach()
    gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-4)
    gain = gain[:, None].expand_as(kept)[kept]
    ratio = (new - old.detach())[:, 1:][kept].exp()
    d = (reference.detach() - new)[:, 1:][kept]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def pass_at_k(n, right, k):
    """Percent, with one digit."""
    none = 1.0
    for i in range(k):
        none *= max(n - right - i, 0) / (n - i)
    return round(100 * (1 - none), 1)
