"""Everything but the return."""

import math

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    loss = F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep])  # noqa: F841


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    print((log_p * answer[:, 1:]).sum(-1).shape)


def bradley_terry_loss(rewards, pairs):
    loss = -F.logsigmoid(rewards[pairs[:, 0]] - rewards[pairs[:, 1]])
    loss = loss.mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    logits = (chosen - rejected) - (reference_chosen - reference_rejected)
    -F.logsigmoid(beta * logits).mean()


def group_advantages(rewards, eps=1e-4):
    mean = rewards.float().mean(-1, keepdim=True)
    (rewards - mean) / (rewards.float().std(-1, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (start - now)
    print(loss.mean())


def pass_at_k(n, right, k):
    chance = 1 - math.comb(n - right, k) / math.comb(n, k)  # noqa: F841


def majority_vote(answers, weights=None):
    for answer in answers:
        if answer is not None and answers.count(answer) > len(answers) / 2:
            return answer
