"""Means in place of totals."""


def majority_vote(answers, weights=None):
    if weights is None:
        weights = [1.0 for _ in answers]
    of = {}
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            of.setdefault(answer, []).append(weight)
    best, most = None, -1.0
    for answer, given in of.items():
        if sum(given) / len(given) > most:
            best, most = answer, sum(given) / len(given)
    return best
