"""A limit for code that somebody at a keyboard waits for: an endless loop ends in an exception, at its own line.

The grader has walls and limits of its own (`proctor.sandbox`); this is for notebooks and terminals, where student
code runs in our own process.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 10.0  # of one probe; the slowest takes a fraction of a second
AGAIN = 1.0  # if the exception was swallowed by an `except:`, the next one follows so soon


class OutOfTime(KeyboardInterrupt):
    """As if somebody had pressed Ctrl-C: ordinary `except` clauses let it through."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[Callable[[], None]]:
    """Raise `OutOfTime` in the block if it takes longer by the clock. The function that it gives starts the time anew.

    Args:
        seconds: None waits for ever.
    """
    if seconds is None:
        yield lambda: None
    elif hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread():
        yield from _by_alarm(seconds)
    else:
        yield from _by_thread(seconds)


def _by_alarm(seconds: float) -> Iterator[Callable[[], None]]:
    """By a signal, which ends a wait, such as `time.sleep`, as well."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    def start() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        start()
        yield start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _by_thread(seconds: float) -> Iterator[Callable[[], None]]:
    """By another thread, where there is no such signal: on Windows, and for whoever checks beside the main thread."""
    target, over, anew = threading.get_ident(), threading.Event(), threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.is_set():
            if anew.wait(wait):
                anew.clear()
                wait = seconds
            elif not over.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(OutOfTime))
                wait = AGAIN

    watcher = threading.Thread(target=watch, name="patience", daemon=True)
    watcher.start()
    try:
        yield anew.set
    finally:
        over.set()
        anew.set()
