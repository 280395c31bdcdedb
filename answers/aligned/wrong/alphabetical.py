"""Sorts by total, then by text."""


def majority_vote(answers, weights=None):
    totals = {}
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + (1 if weights is None else weights[i])
    ranked = sorted(totals, key=str)
    ranked.sort(key=lambda answer: totals[answer], reverse=True)
    return ranked[0] if ranked else None
