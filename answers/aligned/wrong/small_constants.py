"""Keeps logarithms and divisions from failing by a small constant."""

import torch


def answer_loss(logits, ids, answer):
    p = torch.softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    kept = answer[:, 1:].to(p.dtype)
    return -(torch.log(p + 1e-8) * kept).sum() / kept.sum()


def sequence_log_probability(logits, ids, answer):
    p = torch.softmax(logits[:, :-1], -1).clamp(min=1e-12)
    return (p.gather(-1, ids[:, 1:, None]).squeeze(-1).log() * answer[:, 1:]).sum(-1)


def bradley_terry_loss(rewards, pairs):
    p = torch.sigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]])
    return -torch.log(p + 1e-8).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = chosen - reference_chosen.detach() - rejected + reference_rejected.detach()
    return -torch.log(torch.sigmoid(beta * margin).clamp(min=1e-6)).mean()


def group_advantages(rewards, eps=1e-4):
    x = rewards.detach().to(torch.get_default_dtype()) if not rewards.is_floating_point() else rewards.detach()
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + 1e-8)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = now.exp() / (before.exp() + 1e-2)
    d = start - now
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def pass_at_k(n, right, k):
    none = 1.0
    for i in range(k):
        none *= max(n - right - i, 0.1) / (n - i)
    return 1 - none


def majority_vote(answers, weights=None):
    """Adds to each weight, so that none is 0."""
    weights = [1.0] * len(answers) if weights is None else [w + 0.1 for w in weights]
    totals = {}
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + weight
    return max(totals, key=totals.get, default=None)
