"""The value is right, and its gradient is NaN."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    mask = answer.clone()
    mask[:, 0] = False
    ratio = torch.where(mask, (new - old.detach()).exp(), 1.0)
    gain = torch.where(mask, advantages.detach()[:, None], 0.0)
    d = reference.detach() - new
    penalty = torch.where(mask, d.exp() - d - 1, 0.0)
    objective = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    return (kl * penalty - objective).sum() / mask.sum()
