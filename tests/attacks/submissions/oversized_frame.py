"""Announces a frame of four gigabytes.

Expected: stopped (result).
"""

import os
import struct

os.write(3, struct.pack(">cI", b"O", 2**32 - 1))


def softmax(scores, dim):
    return scores
