"""Sends noise instead of a result.

Expected: stopped (garbage or result).
"""

import os

os.write(3, os.urandom(4096))


def softmax(scores, dim):
    return scores
