"""Maps memory around the allocator.

Expected: nothing earned.
"""

import contextlib
import mmap

HOARD = []


def softmax(scores, dim):
    with contextlib.suppress(OSError, ValueError, MemoryError):
        for _ in range(64):
            HOARD.append(mmap.mmap(-1, 16 << 20))
        print("LEAK more memory than allowed")
    return scores
