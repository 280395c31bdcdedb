"""Writes to the standard descriptors directly, and to the bytes below sys.stdout.

Expected: stopped (output).
"""

import os
import sys


def softmax(scores, dim):
    for _ in range(100):
        os.write(1, bytes(1 << 20))
        os.write(2, bytes(1 << 20))
    while True:
        sys.stderr.buffer.write(bytes(1 << 20))
