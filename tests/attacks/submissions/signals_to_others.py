"""Ends the zygote, the grader, its process group, everybody.

Expected: nothing earned.
"""

import contextlib
import ctypes
import os
import signal

for target in (os.getppid(), int("@GRADER@"), 0, -1, 1, -os.getppid()):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        with contextlib.suppress(OSError):
            os.kill(target, number)
            print("LEAK signalled", target)
with contextlib.suppress(OSError):
    os.killpg(0, signal.SIGKILL)
    print("LEAK signalled the group")
with contextlib.suppress(OSError):
    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGKILL)
    print("LEAK signalled by descriptor")
libc = ctypes.CDLL(None)
if libc.sigqueue(os.getppid(), 9, None) == 0:
    print("LEAK queued a signal")


def softmax(scores, dim):
    return scores
