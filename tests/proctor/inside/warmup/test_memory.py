"""The zygote's memory, as children are to find it. Each test has a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="knows glibc's heap")

GAPS = """
import ctypes
from proctor.inside.warmup.memory import take_gaps

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(size) for size in (40, 300, 5000) for _ in range(200)]
for block in blocks[::2]:
    libc.free(block)
end = libc.sbrk(0)
before = [libc.malloc(size) < end for size in (40, 300, 5000)]
take_gaps()
print(before, sum(libc.malloc(size) < end for size in (24, 300, 5000) for _ in range(50)))
"""


def said(program: str, **variables: str) -> str:
    words = [sys.executable, "-c", program]
    run = subprocess.run(words, capture_output=True, text=True, env=os.environ | variables, check=True)
    return run.stdout.strip()


def test_what_is_allocated_after_the_gaps_were_taken_lies_behind_the_heap():
    before, _, inside = said(GAPS, PYTHONMALLOC="malloc").rpartition(" ")
    assert before == "[True, True, True]"
    assert int(inside) <= 3 * 7, "of 150; the allocator keeps up to seven blocks of each size apart"
