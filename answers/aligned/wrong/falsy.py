"""Takes whatever is false for silence."""

from collections import defaultdict


def majority_vote(answers, weights=None):
    totals = defaultdict(float)
    for i, answer in enumerate(answers):
        if answer:
            totals[answer] += weights[i] if weights else 1
    return max(totals, key=totals.get) if totals else None
