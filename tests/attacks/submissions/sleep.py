"""Sleeps for a day.

Expected: stopped (time).
Seconds: 0.25
"""

import time


def softmax(scores, dim):
    time.sleep(86_400)
