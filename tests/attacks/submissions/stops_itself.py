"""Stops its own process, so that it neither ends nor runs.

Expected: stopped (time).
Seconds: 0.25
"""

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
