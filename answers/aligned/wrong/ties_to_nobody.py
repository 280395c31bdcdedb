"""Gives up where two are equal."""

from collections import Counter


def majority_vote(answers, weights=None):
    totals = Counter()
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] += 1 if weights is None else weights[i]
    top = totals.most_common(2)
    if not top or (len(top) == 2 and top[0][1] == top[1][1]):
        return None
    return top[0][0]
