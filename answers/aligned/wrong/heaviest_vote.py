"""The heaviest single vote."""


def majority_vote(answers, weights=None):
    heaviest = {}
    for i, answer in enumerate(answers):
        if answer is not None:
            weight = 1 if weights is None else weights[i]
            if answer not in heaviest or weight > heaviest[answer]:
                heaviest[answer] = weight
    return max(heaviest, key=heaviest.get, default=None)
