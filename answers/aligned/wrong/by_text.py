"""Compares answers as text."""


def majority_vote(answers, weights=None):
    totals = {}
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[str(answer)] = totals.get(str(answer), 0) + (1 if weights is None else weights[i])
    return max(totals, key=totals.get, default=None)
