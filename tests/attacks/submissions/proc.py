"""Reads other processes, and its own, through /proc.

Expected: nothing earned.
"""

import contextlib
import os

PLACES = [
    "/proc/self/environ",
    "/proc/self/maps",
    "/proc/self/mem",
    "/proc/1/environ",
    "/proc/1/cmdline",
    "/proc/version",
]
for pid in (os.getppid(), "@GRADER@"):
    PLACES += [f"/proc/{pid}/{name}" for name in ("environ", "cmdline", "maps", "mem", "root", "cwd", "fd")]
for place in PLACES:
    with contextlib.suppress(OSError), open(place, "rb") as file:
        print("LEAK", place, file.read(10))
    with contextlib.suppress(OSError):
        print("LEAK", place, os.listdir(place))
with contextlib.suppress(OSError):
    if found := set(os.listdir("/proc")) - {"cpuinfo"}:
        print("LEAK", found)


def softmax(scores, dim):
    return scores
