"""Leaves System V objects, shared memory and message queues, which outlive a process.

Expected: nothing earned.
"""

import contextlib
import ctypes
import os
from multiprocessing import shared_memory

libc = ctypes.CDLL(None)
if libc.shmget(4711, 4096, 0o1666) != -1:
    print("LEAK shared memory")
if libc.semget(4711, 1, 0o1666) != -1:
    print("LEAK semaphore")
if libc.msgget(4711, 0o1666) != -1:
    print("LEAK message queue")
with contextlib.suppress(OSError):
    shared_memory.SharedMemory("attack", create=True, size=4096)
    print("LEAK shared memory by name")
with contextlib.suppress(OSError):
    os.memfd_create("attack")
    print("LEAK memory file")


def softmax(scores, dim):
    return scores
