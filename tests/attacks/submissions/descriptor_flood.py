"""Opens files until none can be opened.

Expected: nothing earned.
"""

import contextlib
import os

HELD = []
with contextlib.suppress(OSError):
    for _ in range(100_000):
        HELD.append(os.open(os.devnull, os.O_RDONLY))
if len(HELD) > 1000:
    print("LEAK held", len(HELD))


def softmax(scores, dim):
    return scores
