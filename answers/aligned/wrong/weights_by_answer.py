"""Takes the last weight of each answer for all its votes."""


def majority_vote(answers, weights=None):
    weight_of = dict(zip(answers, weights or [1] * len(answers), strict=True))
    counts = {a: answers.count(a) * weight_of[a] for a in answers if a is not None}
    return max(counts, key=counts.get, default=None)
