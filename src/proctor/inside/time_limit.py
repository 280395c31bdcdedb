"""A time limit for code that may never come back: when it is used up, an exception is raised at the line that runs.

It counts processor time, so that a busy machine changes no verdict, and by the clock a multiple of it, for code that
waits. The sandbox has a deadline of its own outside (`proctor.sandbox`); this is for student code in our own process,
and for edited answers wherever they run.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 1.0  # seconds until it is raised once more, if an `except:` swallowed it


class TimeLimit(KeyboardInterrupt):
    """The time limit was exceeded. A KeyboardInterrupt, so that ordinary `except` clauses let it through."""


@contextmanager
def time_limit(seconds: float, by_the_clock: float | None = None) -> Iterator[None]:
    """Raise `TimeLimit` in the block once it has used so much processor time, or so much wall-clock time. It may be
    raised at the very end of the block, so callers must expect it there. Limits can be nested."""
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        yield from _by_signal(seconds, by_the_clock)
    else:
        yield from _by_thread(by_the_clock or seconds)


def _by_signal(seconds: float, by_the_clock: float | None) -> Iterator[None]:
    """By signals, which end a wait, such as `time.sleep`, as well."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeLimit

    timers = [(signal.SIGPROF, signal.ITIMER_PROF, seconds)]
    timers += [(signal.SIGALRM, signal.ITIMER_REAL, by_the_clock)] if by_the_clock else []
    handlers = [signal.signal(number, ring) for number, _, _ in timers]
    left = [signal.setitimer(timer, delay, min(AGAIN, delay)) for _, timer, delay in timers]
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (number, timer, _), handler, rest in zip(timers, handlers, left, strict=True):
            signal.signal(number, handler)
            signal.setitimer(timer, *rest)  # of the limit outside of this one


def _by_thread(seconds: float) -> Iterator[None]:
    """By another thread and the clock, where there is no such signal: on Windows, and beside the main thread."""
    target, over = threading.get_ident(), threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(TimeLimit))
            wait = AGAIN

    threading.Thread(target=watch, name="time limit", daemon=True).start()
    try:
        yield
    finally:
        over.set()
