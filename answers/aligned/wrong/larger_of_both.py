""""""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """The larger of both, as in a loss with its signs turned."""
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    loss = -torch.maximum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    d = start - now
    return (loss + kl * (d.exp() - d - 1)).mean()


def group_advantages(rewards, eps=1e-4):
    """A maximum for a sum."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    deviation = x.std(-1, keepdim=True, correction=0)
    return (x - x.mean(-1, keepdim=True)) / torch.maximum(deviation, torch.full_like(deviation, eps))
