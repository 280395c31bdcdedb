"""The share of right answers, to the power of k."""


def pass_at_k(n, right, k):
    p = right / n
    chance = 1.0
    for _ in range(k):
        chance *= p
    return chance
