"""Sends descriptors over the channel, to fill the grader's table.

Expected: nothing earned, or stopped (garbage or result).
"""

import contextlib
import socket

with contextlib.suppress(OSError):
    channel = socket.socket(fileno=3)
    for _ in range(200):
        socket.send_fds(channel, [b"x"], [0, 1, 2])
    print("LEAK sent descriptors")


def softmax(scores, dim):
    return scores
