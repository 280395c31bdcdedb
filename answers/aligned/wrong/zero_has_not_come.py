"""Begins with a total of 0 to beat."""


def majority_vote(answers, weights=None):
    best, most = None, 0
    for candidate in answers:
        if candidate is None:
            continue
        total = sum((1 if weights is None else weights[i]) for i, a in enumerate(answers) if a == candidate)
        if total > most:
            best, most = candidate, total
    return best
