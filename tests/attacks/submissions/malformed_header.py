"""Sends a result whose header is nested a hundred thousand times.

Expected: stopped (garbage).
"""

import os
import struct

HEADER = b"[" * 60_000
PAYLOAD = struct.pack("<Q", len(HEADER)) + HEADER
os.write(3, struct.pack(">cI", b"O", len(PAYLOAD)) + PAYLOAD)


def softmax(scores, dim):
    return scores
