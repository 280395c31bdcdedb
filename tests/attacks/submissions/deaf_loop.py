"""Ignores every signal that can be ignored, and never returns.

Expected: stopped (time).
Seconds: 0.25
"""

import contextlib
import signal

for number in signal.valid_signals():
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)


def softmax(scores, dim):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
