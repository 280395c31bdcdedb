"""Groups equal neighbours alone."""

from itertools import groupby


def majority_vote(answers, weights=None):
    weights = [1.0] * len(answers) if weights is None else weights
    cast = [(a, w) for a, w in zip(answers, weights, strict=True) if a is not None]
    longest = {}
    for answer, run in groupby(cast, key=lambda vote: vote[0]):
        longest[answer] = max(longest.get(answer, 0.0), sum(weight for _, weight in run))
    return max(longest, key=longest.get) if longest else None
