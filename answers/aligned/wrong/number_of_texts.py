"""One number for the batch, by the number of texts."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep], reduction="sum") / logits.shape[0]


def sequence_log_probability(logits, ids, answer):
    keep = answer[:, 1:]
    return -F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep], reduction="sum")


def bradley_terry_loss(rewards, pairs):
    losses = -F.logsigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]])
    return losses.sum() / rewards.numel()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    losses = -F.logsigmoid(beta * (chosen - rejected - reference_chosen.detach() + reference_rejected.detach()))
    return losses.sum() / (2 * len(chosen))


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    d = start - now
    losses = kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    return losses.sum() / new.shape[0]


def group_advantages(rewards, eps=1e-4):
    """The unbiased deviation."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps)


def pass_at_k(n, right, k):
    return right / n * k


def majority_vote(answers, weights=None):
    """As many votes as characters."""
    totals = {}
    for answer in answers:
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + len(str(answer))
    return max(totals, key=totals.get, default=None)
