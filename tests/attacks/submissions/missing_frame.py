"""Closes the channel and goes on running.

Expected: stopped (exit or memory or time or crash).
Seconds: 0.7
"""

import os

os.close(3)
while True:
    pass
