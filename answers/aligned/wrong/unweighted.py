"""Counts heads."""

import statistics


def majority_vote(answers, weights=None):
    voting = [a for a in answers if a is not None]
    return statistics.mode(voting) if voting else None
