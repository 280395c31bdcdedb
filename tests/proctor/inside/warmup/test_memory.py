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

LARGE_PAGES = """
import gc
from pathlib import Path
from proctor.inside.warmup.memory import use_large_pages

things = [[number, str(number)] for number in range(300_000)]
gc.freeze()
use_large_pages()
assert things[123_456] == [123_456, "123456"]
pages = Path("/proc/self/smaps_rollup").read_text()
print(next(line.split()[1] for line in pages.splitlines() if line.startswith("AnonHugePages")))
"""


def said(program: str, **variables: str) -> str:
    words = [sys.executable, "-c", program]
    run = subprocess.run(words, capture_output=True, text=True, env=os.environ | variables, check=True)
    return run.stdout.strip()


def test_what_is_allocated_after_the_gaps_were_taken_lies_behind_the_heap():
    before, _, inside = said(GAPS, PYTHONMALLOC="malloc").rpartition(" ")
    assert before == "[True, True, True]"
    assert int(inside) <= 3 * 7, "of 150; the allocator keeps up to seven blocks of each size apart"


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 1), reason="Linux can do it since 6.1")
def test_what_is_there_is_gathered_in_large_pages():
    assert int(said(LARGE_PAGES)) >= 16 * 1024, "KB, of some 50 MB"
