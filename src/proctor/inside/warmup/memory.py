"""The zygote's heap, made ready to be shared: a child pays for each page that it is the first to write to.

Where the system or the C library is another one than this knows, nothing happens.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

SIZES = (100_000, 1 << 14, 1 << 12, 1 << 10, 256, 96, 24)  # bytes; small ones go where large ones do not fit


def take_gaps() -> None:
    """Take the free places that booting left all over the heap, some megabytes.

    A child's tensors would go there, each at the price of a copied page. With the gaps taken, they lie together behind
    everything else, on pages that are not shared.
    """
    if (libc := _glibc()) is None:
        return
    end = libc.sbrk(0)
    for size in SIZES:
        while (libc.malloc(size) or end) < end:
            pass


def _glibc() -> Any:
    """The C library, if it is the one whose heap we know."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return None
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    return libc
