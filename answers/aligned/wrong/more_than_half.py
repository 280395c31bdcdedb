"""Wants more than half of all."""


def majority_vote(answers, weights=None):
    weights = [1] * len(answers) if weights is None else weights
    for candidate in answers:
        if candidate is None:
            continue
        total = sum(w for a, w in zip(answers, weights, strict=True) if a == candidate)
        if total > sum(weights) / 2:
            return candidate
    return None
