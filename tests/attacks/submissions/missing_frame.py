"""Closes the channel and goes on running.

Expected: stopped (garbage).
"""

import os

os.close(3)
while True:
    pass
