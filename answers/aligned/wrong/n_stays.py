"""Forgets that a draw leaves one answer less."""


def pass_at_k(n, right, k):
    missed, wrong = 1.0, n - right
    for _ in range(k):
        missed *= wrong / n
        wrong = max(wrong - 1, 0)
    return 1 - missed
