"""Holds the wrong side, or nothing."""

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    return -F.logsigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]].detach()).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    ours = chosen - rejected
    theirs = reference_chosen - reference_rejected
    return -F.logsigmoid(beta * (ours - theirs)).mean()


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = (x[:, 1:][kept] for x in (new, old, reference))
    gain = advantages.detach()[:, None].expand_as(kept)[kept]
    ratio = (now - before.detach()).exp()
    d = start - now
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()
