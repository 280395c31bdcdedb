"""Whoever is first with a total wins a tie."""

from collections import defaultdict


def majority_vote(answers, weights=None):
    totals, best, most = defaultdict(float), None, -1.0
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] += 1.0 if weights is None else weights[i]
            if totals[answer] > most:
                best, most = answer, totals[answer]
    return best
