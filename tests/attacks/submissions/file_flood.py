"""Writes files wherever it can until the disk is full.

Expected: nothing earned.
"""

import contextlib
import os
import tempfile

for place in ("@PLAYGROUND@", "/tmp", "/var/tmp", "/dev/shm", ".", "/", os.path.expanduser("~"), "/run", "/dev"):
    with contextlib.suppress(OSError):
        for i in range(10):
            with open(os.path.join(place, f"flood-{i}"), "wb") as file:
                file.write(bytes(1 << 20))
            print("LEAK wrote to", place)
with contextlib.suppress(OSError):
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    print("LEAK temporary file")


def softmax(scores, dim):
    return scores
