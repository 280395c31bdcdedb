"""Limits of one process, as the kernel sees them."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable

import pytest

from proctor.inside.rlimits import MB, Limits, lower_limits, mapped_bytes, memory_limit, own_processes


def in_child(action: Callable[[], object]) -> int:
    """The status with which a child ends that runs an action; 0 if it got through."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


def test_mapped_bytes_is_what_the_kernel_says():
    def compare() -> None:  # in a child, where no other thread maps anything meanwhile
        with open("/proc/self/statm") as file:
            said = int(file.read().split()[0]) * resource.getpagesize()
        assert mapped_bytes() == pytest.approx(said, abs=8 * MB)

    assert in_child(compare) == 0


def test_processor_time_ends_a_loop_even_if_nobody_looks_at_the_clock():
    def loop() -> None:
        lower_limits(cpu_seconds=1, address_space=0, processes=4096)
        while True:
            pass

    assert os.WTERMSIG(in_child(loop)) == signal.SIGXCPU


def test_a_loop_that_ignores_the_signal_is_ended_a_second_later():
    def loop() -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        lower_limits(cpu_seconds=1, address_space=0, processes=4096)
        while True:
            pass

    assert os.WTERMSIG(in_child(loop)) == signal.SIGKILL


def test_limits_are_in_force_and_cannot_be_lifted():
    def check() -> None:
        lower_limits(cpu_seconds=7, address_space=mapped_bytes() + 64 * MB, processes=4096)
        for which, expected in (("RLIMIT_CPU", (7, 8)), ("RLIMIT_FSIZE", (0, 0)), ("RLIMIT_CORE", (0, 0))):
            assert resource.getrlimit(getattr(resource, which)) == expected
        bytearray(32 * MB)
        with pytest.raises(MemoryError):
            bytearray(128 * MB)
        if os.geteuid() != 0:
            with pytest.raises(ValueError, match="raise maximum limit"):
                resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))

    assert in_child(check) == 0


def test_the_kernel_counts_whole_seconds_of_processor_time():
    assert Limits(seconds=2.5).cpu_seconds == 3


def test_own_processes_counts_at_least_this_one():
    assert own_processes() >= 1


def test_memory_is_bounded_for_a_while():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with memory_limit(64):
        with pytest.raises(MemoryError):
            bytearray(256 * MB)
        assert len(bytearray(16 * MB)) == 16 * MB
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(256 * MB)) == 256 * MB
