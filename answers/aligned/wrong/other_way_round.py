"""Predicts the past."""

import math

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, :-1]
    return F.cross_entropy(logits[:, 1:][keep], ids[:, :-1][keep])


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits[:, 1:], -1).gather(-1, ids[:, :-1].unsqueeze(-1)).squeeze(-1)
    return (log_p * answer[:, :-1]).sum(-1)


def bradley_terry_loss(rewards, pairs):
    loser, winner = pairs.T
    return F.softplus(rewards[loser] - rewards[winner]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    ratio = (chosen - rejected) - (reference_chosen - reference_rejected).detach()
    return F.softplus(beta * ratio).mean()


def group_advantages(rewards, eps=1e-4):
    """Over the requests."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    return (x - x.mean(0, keepdim=True)) / (x.std(0, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """The ratio and the penalty, both turned round."""
    kept = answer[:, 1:]
    ratio = (old.detach() - new)[:, 1:][kept].exp()
    gain = advantages.detach()[:, None].expand_as(kept)[kept]
    d = (new - reference.detach())[:, 1:][kept]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def pass_at_k(n, right, k):
    """k and n have changed places in the counts."""
    return 1 - math.comb(n - k, k) / math.comb(n, max(right, 1))


def majority_vote(answers, weights=None):
    """Of equals the last."""
    totals = {}
    for i in reversed(range(len(answers))):
        if answers[i] is not None:
            totals[answers[i]] = totals.get(answers[i], 0) + (1 if weights is None else weights[i])
    return max(totals, key=totals.get, default=None)
