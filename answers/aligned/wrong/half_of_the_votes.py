"""An absolute majority of those who vote."""


def majority_vote(answers, weights=None):
    votes = [(a, 1.0 if weights is None else weights[i]) for i, a in enumerate(answers) if a is not None]
    needed = sum(w for _, w in votes) / 2
    for candidate, _ in votes:
        if sum(w for a, w in votes if a == candidate) > needed:
            return candidate
    return None
