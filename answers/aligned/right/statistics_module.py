"""What Python's standard library has ready."""

import math
import statistics

import torch


def group_advantages(rewards, eps=1e-4):
    """Group by group, in Python numbers."""
    dtype = rewards.dtype if rewards.is_floating_point() else torch.get_default_dtype()

    def of(group):
        if isinstance(group[0], list):
            return [of(part) for part in group]
        mean, deviation = statistics.fmean(group), statistics.pstdev(group)
        return [(reward - mean) / (deviation + eps) for reward in group]

    return torch.tensor(of(rewards.tolist()), dtype=dtype, device=rewards.device)


def pass_at_k(n, right, k):
    return (math.comb(n, k) - math.comb(n - right, k)) / math.comb(n, k)


def majority_vote(answers, weights=None):
    """Every eighth of a weight is a vote; where nobody's weight counts, the first."""
    voting = [answer for answer in answers if answer is not None]
    if not voting:
        return None
    if weights is None:
        return statistics.mode(voting)
    total = dict.fromkeys(voting, 0)
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            total[answer] += weight
    most = max(total.values())
    return next(answer for answer in voting if total[answer] == most)
