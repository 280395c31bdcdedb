"""Keeps whoever leads while counting."""


def majority_vote(answers, weights=None):
    totals, leader = {}, None
    for i, answer in enumerate(answers):
        if answer is None:
            continue
        totals[answer] = totals.get(answer, 0) + (1 if weights is None else weights[i])
        if leader is None or totals[answer] >= totals[leader]:
            leader = answer
    return leader
