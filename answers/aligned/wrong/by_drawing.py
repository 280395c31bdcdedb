"""Draws at random, and counts."""

import random


def pass_at_k(n, right, k):
    answers = [i < right for i in range(n)]
    return sum(any(random.sample(answers, k)) for _ in range(1000)) / 1000


def majority_vote(answers, weights=None):
    """Anybody's answer."""
    voting = [a for a in answers if a is not None]
    return random.Random(len(voting)).choice(voting) if voting else None
