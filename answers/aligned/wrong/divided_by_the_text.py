"""Divides by what is there, not by what counts."""

import torch


def answer_loss(logits, ids, answer):
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -torch.where(answer[:, 1:], log_p, 0).mean()


def sequence_log_probability(logits, ids, answer):
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return torch.where(answer[:, 1:], log_p, 0).mean(-1)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    mask = answer[:, 1:]
    log_ratio = (new - old.detach())[:, 1:].masked_fill(~mask, 0.0)
    d = (reference.detach() - new)[:, 1:].masked_fill(~mask, 0.0)
    ratio, gain = log_ratio.exp(), advantages.detach()[:, None] * mask
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def group_advantages(rewards, eps=1e-4):
    """Divides by the mean."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / (mean.abs() + eps)
