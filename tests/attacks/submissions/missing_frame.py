"""Closes the channel and goes on running.

Expected: stopped (garbage).
Seconds: 0.5
"""

import os

os.close(3)
while True:
    pass
