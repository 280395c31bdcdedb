"""The penalty goes into what is cut."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    d = start - now
    gain = gain - kl * (d.exp() - d - 1).detach()
    return -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain).mean()


def group_advantages(rewards, eps=1e-4):
    """By rank."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    rank = (x[..., :, None] > x[..., None, :]).sum(-1).to(x.dtype)
    return (rank - rank.mean(-1, keepdim=True)) / (rank.std(-1, keepdim=True, correction=0) + eps)
