"""Leaves with a status that says success.

Expected: nothing earned.
"""

import sys


def softmax(scores, dim):
    sys.exit(0)


def similarity_scores(q, k):
    raise KeyboardInterrupt
