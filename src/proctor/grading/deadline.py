"""Bounds for a worker, which reads and walks data from hostile programs: a time by the clock, memory, and its parent's
life.

The sandbox bounds what a program does inside it. These bound what its author can make *us* do: the process that goes
beyond them ends, and only the submission that it worked on is affected.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MORE_MEMORY = 4 * 2**30  # bytes of address space that marking may need beyond what a worker starts with
PR_SET_PDEATHSIG = 1


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer, by the clock. A thread outside of Python does it, so that nothing can
    hold it up."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def bound_memory() -> None:
    """Refuse this process more memory than marking can need: a MemoryError is one student's, the system's choice of
    whom to end is not. Its children may ask for more, and have limits of their own."""
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MORE_MEMORY
    with suppress(ValueError, OSError):  # a lower limit stands already
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def end_with_parent(parent: int) -> None:
    """End this process when `parent` does, however that ends."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)
