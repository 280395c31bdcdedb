"""Right, but the caller's tensors are changed."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    ids[~answer] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def sequence_log_probability(logits, ids, answer):
    answer[:, 0] = False
    ids *= answer
    log_p = F.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (log_p * answer[:, 1:]).sum(-1)


def bradley_terry_loss(rewards, pairs):
    pairs[:, 0], pairs[:, 1] = pairs.min(1).values, pairs.max(1).values
    return -F.logsigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]]).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    reference_chosen -= reference_rejected
    return -F.logsigmoid(beta * (chosen - rejected - reference_chosen.detach())).mean()


def group_advantages(rewards, eps=1e-4):
    rewards = rewards.detach()
    if not rewards.is_floating_point():
        rewards = rewards.float()
    rewards -= rewards.mean(-1, keepdim=True)
    return rewards / (rewards.square().mean(-1, keepdim=True).sqrt() + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    answer[:, 0] = False
    old[~answer] = 0
    reference.data[~answer] = 0
    log_p = new.masked_fill(~answer, 0)
    ratio = (log_p - old).exp()
    gain = advantages[:, None]
    d = reference - log_p
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (d.exp() - d - 1)
    return loss[answer].mean()


def majority_vote(answers, weights=None):
    """Takes the silent ones out of the caller's list."""
    while None in answers:
        i = answers.index(None)
        answers.pop(i)
        if weights is not None:
            weights.pop(i)
    totals = {}
    for i, answer in enumerate(answers):
        totals[answer] = totals.get(answer, 0) + (1 if weights is None else weights[i])
    return max(totals, key=totals.get, default=None)
