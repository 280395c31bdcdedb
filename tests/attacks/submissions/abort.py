"""Aborts its process as a failing library would.

Expected: stopped (crash).
"""

import os


def softmax(scores, dim):
    os.abort()
