"""The zygote's memory, made ready to be shared. A fork copies a note of every page, and a child pays for each page that
it is the first to write to: the fewer of both, the better.

There is no /proc in the sandbox, so what is mapped where is found by trying. Where the system or the C library is
another one than this knows, nothing happens.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

LARGE = 2 << 20  # bytes of a large page
COLLAPSE = 25  # MADV_COLLAPSE, since Linux 6.1
SIZES = (100_000, 1 << 14, 1 << 12, 1 << 10, 256, 96, 24)  # bytes; small ones go where large ones do not fit


def take_gaps() -> None:
    """Take the free places that booting left all over the heap, some megabytes.

    A child's tensors would go there, each at the price of a copied page. With the gaps taken, they lie together behind
    everything else, on pages that are nobody's yet.
    """
    if (libc := _glibc()) is None:
        return
    end = libc.sbrk(0)
    for size in SIZES:
        while (libc.malloc(size) or end) < end:
            pass


def use_large_pages() -> None:
    """Gather pages of 4 KB into large ones: wherever Python has objects, and in the heap.

    To fork then takes a third of the time: there are five hundred times fewer pages to note.
    """
    if (libc := _glibc()) is None:
        return
    gc.unfreeze()  # else these objects are not told
    for place in {id(thing) // LARGE for thing in gc.get_objects()}:
        libc.madvise(place * LARGE, LARGE, COLLAPSE)
    place = libc.sbrk(0) // LARGE - 1
    while libc.madvise(place * LARGE, LARGE, COLLAPSE) == 0:  # down to where the heap begins
        place -= 1


def _glibc() -> Any:
    """The C library, if it is the one whose heap we know."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return None
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc
