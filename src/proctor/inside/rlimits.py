"""Limits of one answer, wherever it runs, and their enforcement by the kernel.

A run is one process that cannot start another, so per-process limits bound the whole submission and no cgroup is
needed.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

try:
    import resource
except ImportError:  # Windows has no resource limits; the tiers that need them say so
    resource = None  # type: ignore[assignment]

MB = 1 << 20
WAITS = 4  # by the clock a run may last so many times its processor time: a machine may be busy, not asleep


@dataclass(frozen=True)
class Limits:
    """Bounds of one answer, the same in a notebook, in a terminal and in the sandbox.

    Answers of a file run together; one that meets a bound there runs once more alone, so that none is stopped by what
    others used (`proctor.marking.submission_marker`).

    Args:
        seconds: processor time, so that a busy machine changes no verdict. By the clock a run may last `WAITS`
            times as long; only code that waits for nothing, or a machine that hardly runs it, gets there.
        memory_mb: address space on top of what is mapped before student code runs.
        output_bytes: printed text beyond which it is stopped. The first `kept_output` characters are kept.
        frame_bytes: the largest single observation.
        result_bytes: all observations of one run together.
        code_bytes: the largest submission that is sent in.
        boot_seconds: how long the sandbox itself may take to start (it imports torch).
    """

    seconds: float = 30.0
    memory_mb: int = 2048
    output_bytes: int = 8 * MB
    kept_output: int = 4096
    frame_bytes: int = 16 * MB
    result_bytes: int = 64 * MB
    code_bytes: int = 4 * MB
    boot_seconds: float = 120.0

    @property
    def cpu_seconds(self) -> int:
        """Processor time as the kernel counts it, in whole seconds."""
        return math.ceil(self.seconds)


@contextlib.contextmanager
def memory_limit(megabytes: int) -> Iterator[None]:
    """Let this process map at most so much more memory inside the block. Linux only; no effect elsewhere."""
    try:
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * mmap.PAGESIZE
    except OSError:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = [mapped + megabytes * MB, *(bound for bound in before if bound != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(most), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def mapped_bytes() -> int:
    """Address space of this process, found by asking the kernel when it would refuse one more page.

    There is no /proc in the sandbox to read it from. A throwaway child does the asking, since it has to lower its own
    limit to find out.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            low, high = 0, 1 << 46
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            while high - low > mmap.PAGESIZE:
                middle = (low + high) // 2
                resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
                try:
                    mmap.mmap(-1, mmap.PAGESIZE).close()
                    high = middle
                except (OSError, MemoryError):
                    low = middle
            os.write(writer, struct.pack(">Q", high))
        finally:
            os._exit(0)
    os.close(writer)
    answer = os.read(reader, 8)
    os.close(reader)
    os.waitpid(pid, 0)
    return int(struct.unpack(">Q", answer)[0]) if len(answer) == 8 else 0


def peak_kb() -> int:
    """The most memory this process has held so far."""
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def own_processes() -> int:
    """Number of processes of this user, where /proc is readable."""
    try:
        return sum(os.stat(f"/proc/{name}").st_uid == os.getuid() for name in os.listdir("/proc") if name.isdigit())
    except OSError:
        return 512


def lower_limits(cpu_seconds: int, address_space: int, processes: int) -> None:
    """Lower this process's limits for good (hard limits, so they cannot be raised again).

    Args:
        cpu_seconds: SIGXCPU then, SIGKILL one second later.
        address_space: bytes; 0 leaves it alone.
        processes: how many processes and threads this user may have, all together.
    """

    def lower(name: str, soft: int, hard: int | None = None) -> None:
        which = getattr(resource, name, None)
        if which is None:
            return
        ceiling = resource.getrlimit(which)[1]
        hard = soft if hard is None else hard
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        # other systems refuse some of these; there the tier promises nothing
        with contextlib.suppress(*() if sys.platform == "linux" else (ValueError, OSError)):
            resource.setrlimit(which, (soft, hard))

    lower("RLIMIT_CPU", cpu_seconds, cpu_seconds + 1)
    lower("RLIMIT_CORE", 0)
    lower("RLIMIT_FSIZE", 0)
    lower("RLIMIT_NOFILE", 64)
    lower("RLIMIT_MEMLOCK", 0)
    lower("RLIMIT_MSGQUEUE", 0)
    lower("RLIMIT_NPROC", processes)
    if address_space:
        lower("RLIMIT_AS", address_space)
