"""Stops one draw early."""


def pass_at_k(n, right, k):
    missed = 1.0
    for i in range(k - 1):
        missed *= max(n - right - i, 0) / (n - i)
    return 1 - missed
