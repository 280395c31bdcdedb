""""""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """No minimum, only the cut."""
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp().clamp(1 - clip, 1 + clip)
    d = start - now
    return (kl * (d.exp() - d - 1) - ratio * gain).mean()


def group_advantages(rewards, eps=1e-4):
    """Only the mean is taken off."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    return x - x.mean(-1, keepdim=True)
