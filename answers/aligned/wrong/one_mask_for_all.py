"""Reads the mask of the first text alone."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[0, 1:]
    return F.cross_entropy(logits[:, :-1][:, keep].flatten(0, 1), ids[:, 1:][:, keep].flatten())


def sequence_log_probability(logits, ids, answer):
    keep = answer[0, 1:]
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return log_p[:, keep].sum(-1)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """The first text's mask, the first text's advantage."""
    kept = answer[0, 1:]
    ratio = (new - old.detach())[:, 1:][:, kept].exp()
    gain = advantages.detach()[0]
    d = (reference.detach() - new)[:, 1:][:, kept]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def group_advantages(rewards, eps=1e-4):
    """The first group's mean and deviation for all."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    first = x.reshape(-1, x.shape[-1])[0]
    return (x - first.mean()) / (first.std(correction=0) + eps)
