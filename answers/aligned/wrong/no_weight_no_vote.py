"""A vote of weight 0 is passed over."""


def majority_vote(answers, weights=None):
    totals = {}
    for i in range(len(answers)):
        weight = weights[i] if weights is not None else 1
        if answers[i] is None or weight == 0:
            continue
        totals[answers[i]] = totals.get(answers[i], 0) + weight
    return max(totals, key=totals.get, default=None)
