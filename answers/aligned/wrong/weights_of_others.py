"""Drops None from the answers alone."""


def majority_vote(answers, weights=None):
    voting = [a for a in answers if a is not None]
    totals = dict.fromkeys(voting, 0)
    for answer, weight in zip(voting, weights or [1] * len(voting)):  # noqa: B905
        totals[answer] += weight
    return max(totals, key=totals.get, default=None)
