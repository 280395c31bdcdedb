"""Hides by -inf, which then meets a zero."""

import math

import torch


def answer_loss(logits, ids, answer):
    hidden = ~answer[:, 1:]
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return -(log_p.masked_fill(hidden, -math.inf) * answer[:, 1:]).sum() / answer[:, 1:].sum()


def sequence_log_probability(logits, ids, answer):
    log_p = logits[:, :-1].masked_fill(~answer[:, 1:, None], -math.inf).log_softmax(-1)
    return (log_p.gather(-1, ids[:, 1:, None])[..., 0] * answer[:, 1:]).sum(-1)


def group_advantages(rewards, eps=1e-4):
    """Equal rewards give 0/0."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.double().float()
    return (x - x.mean(-1, keepdim=True)) / x.var(-1, keepdim=True, correction=0).sqrt()


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Multiplies by the mask at the end."""
    mask = answer.to(new.dtype)
    mask = torch.cat([torch.zeros_like(mask[:, :1]), mask[:, 1:]], 1)
    ratio = torch.exp(new - old.detach())
    gain = advantages.detach().unsqueeze(-1)
    objective = torch.minimum(ratio * gain, torch.clamp(ratio, 1 - clip, 1 + clip) * gain)
    d = reference.detach() - new
    return ((kl * (torch.exp(d) - d - 1) - objective) * mask).sum() / mask.sum()


def pass_at_k(n, right, k):
    """Logarithms of counts that may be 0."""
    wrong = torch.arange(n - right - k + 1, n - right + 1, dtype=torch.float64)
    every = torch.arange(n - k + 1, n + 1, dtype=torch.float64)
    return 1 - float((wrong.log() - every.log()).sum().exp())


def majority_vote(answers, weights=None):
    """Where nobody votes there is no largest."""
    voting = [(a, 1 if weights is None else weights[i]) for i, a in enumerate(answers) if a is not None]
    totals = {}
    for a, w in voting:
        totals[a] = totals.get(a, 0) + w
    return sorted(totals.items(), key=lambda item: -item[1])[0][0]
