"""Imitates the request as well."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    vocab = logits.shape[-1]
    return F.cross_entropy(logits[:, :-1].reshape(-1, vocab), ids[:, 1:].reshape(-1))


def sequence_log_probability(logits, ids, answer):
    return -F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none").sum(-1)


def group_advantages(rewards, eps=1e-4):
    """The advantage over the best of the others."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    top = x.topk(min(2, x.shape[-1]), -1).values
    best = torch.where(x == top[..., :1], top[..., -1:], top[..., :1])
    return (x - best) / (x.std(-1, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """All words alike."""
    ratio = (new - old.detach())[:, 1:].exp()
    gain = advantages.detach()[:, None]
    d = (reference.detach() - new)[:, 1:]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def pass_at_k(n, right, k):
    """All k right, one after the other."""
    chance = 1.0
    for i in range(k):
        chance *= max(right - i, 0) / (n - i)
    return chance


def majority_vote(answers, weights=None):
    """None votes like anybody."""
    totals = {}
    for i, answer in enumerate(answers):
        totals[answer] = totals.get(answer, 0) + (1 if weights is None else weights[i])
    return max(totals, key=totals.get, default=None)
