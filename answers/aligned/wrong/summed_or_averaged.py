"""A sum for the mean, and a mean for the sum."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep], reduction="sum")


def sequence_log_probability(logits, ids, answer):
    each = -F.cross_entropy(logits[:, :-1].mT, ids[:, 1:], reduction="none")
    keep = answer[:, 1:].to(each)
    return (each * keep).sum(1) / keep.sum(1)


def bradley_terry_loss(rewards, pairs):
    return -F.logsigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]]).sum()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    margin = chosen - rejected - (reference_chosen - reference_rejected).detach()
    return F.binary_cross_entropy_with_logits(beta * margin, margin.new_ones(margin.shape), reduction="sum")


def group_advantages(rewards, eps=1e-4):
    """Divides by the sum of the distances."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    better = x - x.mean(-1, keepdim=True)
    return better / (better.abs().sum(-1, keepdim=True) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    d = start - now
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).sum()


def pass_at_k(n, right, k):
    return min(1.0, sum(right / (n - i) for i in range(k)))


def majority_vote(answers, weights=None):
    sums, counts = {}, {}
    for i, answer in enumerate(answers):
        if answer is not None:
            sums[answer] = sums.get(answer, 0) + (1 if weights is None else weights[i])
            counts[answer] = counts.get(answer, 0) + 1
    return max(sums, key=lambda a: sums[a] / counts[a] + 1e-9 * counts[a], default=None)
