"""What torch has ready: cross_entropy with an index that it ignores, distributions, nested where."""

import math
from collections import Counter

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    targets = torch.where(answer, ids, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=-100)


def sequence_log_probability(logits, ids, answer):
    targets = ids.masked_fill(~answer, -1)[:, 1:]
    if targets.shape[1] == 0:
        return logits.new_zeros(len(ids)) + 0 * logits.sum()
    each = F.cross_entropy(logits[:, :-1].mT, targets, ignore_index=-1, reduction="none")
    return -each.sum(1)


def bradley_terry_loss(rewards, pairs):
    differences = rewards[pairs] @ rewards.new_tensor([1.0, -1.0])
    return F.binary_cross_entropy_with_logits(differences, torch.ones_like(differences))


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    with torch.no_grad():
        start = reference_chosen - reference_rejected
    logits = beta * (chosen - rejected - start)
    return F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))


def group_advantages(rewards, eps=1e-4):
    with torch.no_grad():
        rewards = rewards if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
        variance, mean = torch.var_mean(rewards, dim=-1, correction=0, keepdim=True)
        return (rewards - mean) / (variance.sqrt() + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = F.pad(answer[:, 1:], (1, 0), value=False)
    log_ratio = torch.where(kept, new - old.detach(), 0.0)
    ratio = log_ratio.exp()
    weight = advantages.detach().unsqueeze(1)
    gain = torch.min(ratio * weight, torch.clamp(ratio, 1.0 - clip, 1.0 + clip) * weight)
    d = torch.where(kept, reference.detach() - new, 0.0)
    losses = -gain + kl * (torch.expm1(d) - d)
    return losses[kept].mean()


def pass_at_k(n, right, k):
    """By logarithms of factorials."""
    wrong = n - right
    if wrong < k:
        return 1.0
    return -math.expm1(
        math.lgamma(wrong + 1) - math.lgamma(wrong - k + 1) - math.lgamma(n + 1) + math.lgamma(n - k + 1)
    )


def majority_vote(answers, weights=None):
    votes = Counter()
    for answer, weight in zip(answers, weights if weights is not None else [1] * len(answers), strict=True):
        if answer is not None:
            votes[answer] += weight
    return votes.most_common(1)[0][0] if votes else None
