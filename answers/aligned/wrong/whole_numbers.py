"""Divides whole numbers to whole numbers."""

import math


def pass_at_k(n, right, k):
    return float(1 - math.comb(n - right, k) // math.comb(n, k))


def group_advantages(rewards, eps=1e-4):
    """Keeps the kind of the rewards."""
    x = rewards.detach().double()
    return ((x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps)).to(rewards.dtype)


def majority_vote(answers, weights=None):
    """Rounds weights."""
    totals = {}
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + (1 if weights is None else round(weights[i]))
    return max(totals, key=totals.get, default=None)
