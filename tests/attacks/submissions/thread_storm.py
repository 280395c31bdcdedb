"""Starts threads that spin.

Expected: nothing earned.
"""

import contextlib
import threading


def spin():
    while True:
        pass


threading.stack_size(32768)
for _ in range(1000):
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=spin, daemon=True).start()
        print("LEAK started a thread")


def softmax(scores, dim):
    return scores
