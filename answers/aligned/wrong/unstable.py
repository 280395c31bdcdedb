"""Exponentials and logarithms as the formula has them."""

import torch


def sequence_log_probability(logits, ids, answer):
    p = torch.softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (p.log() * answer[:, 1:]).sum(-1)


def bradley_terry_loss(rewards, pairs):
    winner, loser = rewards[pairs[:, 0]].exp(), rewards[pairs[:, 1]].exp()
    return -(winner / (winner + loser)).log().mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    winner = torch.exp(beta * (chosen - reference_chosen.detach()))
    loser = torch.exp(beta * (rejected - reference_rejected.detach()))
    return -torch.log(winner / (winner + loser)).mean()


def group_advantages(rewards, eps=1e-4):
    """The formula without what keeps it from 0/0."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    better = x - x.mean(-1, keepdim=True)
    return better / (better.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.5)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Probabilities in place of their logarithms."""
    p, q, r = new.exp(), old.exp().detach(), reference.exp().detach()
    mask = answer.clone()
    mask[:, 0] = False
    ratio = p / q
    gain = advantages.detach()[:, None]
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (r / p - (r / p).log() - 1)
    return (loss * mask).sum() / mask.sum()


def pass_at_k(n, right, k):
    """Factorials as floats."""
    f = lambda m: torch.arange(1, m + 1, dtype=torch.float64).prod().item()  # noqa: E731
    if n - right < k:
        return 1.0
    return 1 - f(n - right) * f(n - k) / (f(n - right - k) * f(n))
