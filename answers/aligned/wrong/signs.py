"""The other sign."""

import math

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    log_p = F.log_softmax(logits[:, :-1][keep], -1)
    return log_p.gather(1, ids[:, 1:][keep].unsqueeze(1)).mean()


def sequence_log_probability(logits, ids, answer):
    targets = ids.masked_fill(~answer, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].mT, targets, reduction="none").sum(1)


def bradley_terry_loss(rewards, pairs):
    first, second = pairs[:, 0], pairs[:, 1]
    return F.logsigmoid(rewards[first] - rewards[second]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    policy, start = chosen - rejected, (reference_chosen - reference_rejected).detach()
    return F.logsigmoid(beta * (policy - start)).mean()


def group_advantages(rewards, eps=1e-4):
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    mean, deviation = rewards.mean(-1, keepdim=True), rewards.std(-1, keepdim=True, correction=0)
    return (mean - rewards) / (deviation + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = torch.exp(now - before)
    objective = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    d = start - now
    return (objective - kl * (d.exp() - d - 1)).mean()


def pass_at_k(n, right, k):
    return math.comb(n - right, k) / math.comb(n, k)


def majority_vote(answers, weights=None):
    totals = {}
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] = totals.get(answer, 0) - (1 if weights is None else weights[i])
    return max(totals, key=totals.get) if totals else None
