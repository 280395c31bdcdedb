"""Leaves a process behind that outlives it and has its own session.

Expected: nothing earned.
"""

import contextlib
import os
import time

with contextlib.suppress(OSError):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)


def softmax(scores, dim):
    return scores
