"""Ends its process in the middle of a probe.

Expected: stopped (exit).
"""

import os


def softmax(scores, dim):
    os._exit(0)
