"""Sends small frames without end.

Expected: stopped (result or garbage or time).
"""

import os
import struct

FRAME = struct.pack(">cI", b"P", 12) + b'{"text":"x"}'
while True:
    os.write(3, FRAME * 1000)
