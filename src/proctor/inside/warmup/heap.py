"""The zygote's memory, made ready to be shared: a child pays for every page that it writes to.

Booting leaves free places all over the heap. A child's objects would go there, each at the price of a copied page.
With the gaps taken, they lie together behind everything else, on pages that are nobody's yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys

SIZES = (100_000, 1 << 14, 1 << 12, 1 << 10, 256, 96, 24)  # bytes; small ones go where large ones do not fit


def settle() -> None:
    """Keep all that is there out of later collections, and take the gaps that are left (some megabytes)."""
    with contextlib.suppress(AttributeError):  # CPython's own, and not for ever
        sys._clear_type_cache()  # it points everywhere: each entry that a child replaced would be a write to a page
    gc.freeze()  # garbage as well: to look for it would take longer than all that is rehearsed
    gc.enable()
    with contextlib.suppress(OSError, AttributeError):  # only glibc's heap is known to grow upwards
        _take_gaps(ctypes.CDLL(None))


def _take_gaps(libc: ctypes.CDLL) -> None:
    _ = libc.gnu_get_libc_version
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.sbrk.restype = ctypes.c_void_p
    end = libc.sbrk(0)
    for size in SIZES:
        while (libc.malloc(size) or end) < end:
            pass
