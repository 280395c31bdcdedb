"""Calls itself for ever, with Python's own guard removed.

Expected: nothing earned, or stopped (crash or memory or time).
Seconds: 3
"""

import sys

sys.setrecursionlimit(10**9)


def softmax(scores, dim):
    return sorted([1, 2], key=lambda x: softmax(scores, dim))
