"""A chance in percent."""


def pass_at_k(n, right, k):
    none = 1.0
    for i in range(k):
        none *= max(n - right - i, 0) / (n - i)
    return (1 - none) * 100
