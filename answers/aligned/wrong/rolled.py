"""Rolls, so that the first word meets the last logits."""

import torch


def answer_loss(logits, ids, answer):
    log_p = logits.log_softmax(-1).roll(1, dims=1)
    each = log_p.gather(-1, ids[..., None])[..., 0]
    return -each[answer].mean()


def sequence_log_probability(logits, ids, answer):
    log_p = torch.roll(torch.log_softmax(logits, -1), 1, 1)
    each = torch.take_along_dim(log_p, ids[..., None], -1)[..., 0]
    return each.masked_fill(answer.logical_not(), 0).sum(1)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Shifts once more what has been shifted."""
    kept = answer[:, 1:]
    ratio = (new - old.detach())[:, :-1][kept].exp()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    d = (reference.detach() - new)[:, :-1][kept]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def group_advantages(rewards, eps=1e-4):
    """Against the answer before it."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    return (x - x.roll(1, -1)) / (x.std(-1, keepdim=True, correction=0) + eps)
