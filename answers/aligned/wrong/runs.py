"""Counts the longest run."""

from itertools import groupby


def majority_vote(answers, weights=None):
    runs = [(a, len(list(group))) for a, group in groupby(answers) if a is not None]
    return max(runs, key=lambda run: run[1])[0] if runs else None
