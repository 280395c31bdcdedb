"""Sends its result one byte at a time.

Expected: stopped (time).
Seconds: 0.25
"""

import os
import struct
import time

os.write(3, struct.pack(">cI", b"O", 10_000))
while True:
    os.write(3, b"x")
    time.sleep(0.01)
