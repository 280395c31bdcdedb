"""The zygote's memory, made ready to be shared: a child pays for every page that it writes to."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Collection

SIZES = (100_000, 1 << 14, 1 << 12, 1 << 10, 256, 96, 24)  # bytes; small ones go where large ones do not fit


def settle(warm: Collection[str]) -> None:
    """Make all that is there ready, as far as it is asked for; in this order: what is freed later leaves gaps again."""
    if "freeze" in warm:
        freeze()
    if "gaps" in warm:
        take_gaps()


def freeze() -> None:
    """Keep all that is there out of later collections, garbage as well: to look for it would take longer than all that
    is rehearsed."""
    gc.freeze()


def take_gaps() -> None:
    """Take the free places that booting left all over the heap (some megabytes).

    A child's objects would go there, each at the price of a copied page. With the gaps taken, they lie together behind
    everything else, on pages that are nobody's yet. Only glibc's heap is known to grow upwards; elsewhere this does
    nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        _ = libc.gnu_get_libc_version
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        libc.sbrk.restype = ctypes.c_void_p
        end = libc.sbrk(0)
        for size in SIZES:
            while (libc.malloc(size) or end) < end:
                pass
