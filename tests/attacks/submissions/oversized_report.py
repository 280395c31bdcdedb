"""Sends a report of megabytes of nested JSON, which would take a hundred times its size to read.

Expected: stopped (result).
"""

import os
import struct

PAYLOAD = b"[" + b"[]," * 3_000_000 + b"[]]"
os.write(3, struct.pack(">cI", b"D", len(PAYLOAD)))
VIEW = memoryview(PAYLOAD)
while VIEW:
    VIEW = VIEW[os.write(3, VIEW) :]


def softmax(scores, dim):
    return scores
