"""One draw too many or too few."""


def pass_at_k(n, right, k):
    none = 1.0
    for i in range(1, k):
        none *= max(n - right - i, 0) / (n - i)
    return 1 - none
