"""Begins a frame, and ends.

Expected: stopped (exit).
"""

import os
import struct

os.write(3, struct.pack(">cI", b"O", 10_000) + b"half of it")
os._exit(0)
