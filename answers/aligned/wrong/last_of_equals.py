"""Whoever comes later wins a tie."""

from collections import Counter


def majority_vote(answers, weights=None):
    totals = Counter()
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] += 1 if weights is None else weights[i]
    best = None
    for answer in totals:
        if best is None or totals[answer] >= totals[best]:
            best = answer
    return best
