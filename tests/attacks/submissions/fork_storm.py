"""Starts processes, by every call that starts one.

Expected: nothing earned.
"""

import contextlib
import ctypes
import os
import subprocess
import sys

for _ in range(20):
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            while True:
                pass
        print("LEAK forked")
with contextlib.suppress(OSError):
    os.posix_spawn(sys.executable, [sys.executable, "-c", "while True: pass"], {})
    print("LEAK spawned")
with contextlib.suppress(OSError, subprocess.SubprocessError):
    subprocess.Popen([sys.executable, "-c", "while True: pass"])
    print("LEAK started a program")
if os.system("true") == 0:
    print("LEAK ran a shell")
with contextlib.suppress(OSError):
    os.execv(sys.executable, [sys.executable, "-c", "pass"])
    print("LEAK became another program")
libc = ctypes.CDLL(None)
for number in (56, 57, 58, 220, 435):  # clone, fork, vfork, clone (aarch64), clone3
    if libc.syscall(number, 17, 0, 0, 0, 0) == 0:
        os._exit(0)


def softmax(scores, dim):
    return scores
