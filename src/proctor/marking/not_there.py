"""What an answer has not got when it is graded, and would have in its author's own process: a disk to write on, further
threads, a network, other programs. Whoever checks an answer is told so at once, and not by the grade."""

from __future__ import annotations

import _thread
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from proctor.inside import time_limit

DISK = "nothing may be written to the disk here: an answer has no disk when it is graded"
THREADS = "no thread may be started here: an answer is a single thread when it is graded"
NETWORK = "there is no network here, as there is none when an answer is graded"
PROGRAMS = "no other program may be started here: an answer is alone when it is graded"
REFUSED = {
    **dict.fromkeys(("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"), DISK),
    **dict.fromkeys(("socket.__new__", "socket.getaddrinfo"), NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"), PROGRAMS),
}
STARTERS = (
    (_thread, "start_new_thread"),
    (_thread, "start_joinable_thread"),
    (threading, "_start_new_thread"),
    (threading, "_start_joinable_thread"),
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LIMITS = time_limit.__file__  # it may start a thread, which watches the answer
NEAR = 6  # callers that are looked at for it

_answers: set[int] = set()  # threads that run an answer
_hooked: list[bool] = []  # a hook cannot be removed again, so there is one


@contextmanager
def not_there() -> Iterator[None]:
    """Refuse to code in the block what the sandbox would refuse it. In this thread alone: others go on as they are."""
    if not _hooked:
        _hooked.append(True)
        with suppress(FileNotFoundError):
            tempfile.gettempdir()  # looks for it by writing, once: a part of torch that an answer imports asks for it
        sys.addaudithook(_refuse)
        for module, name in STARTERS:  # of which no audit hook hears
            if hasattr(module, name):
                setattr(module, name, _unless_an_answer(getattr(module, name)))
    me = threading.get_ident()
    inside = me in _answers
    _answers.add(me)
    try:
        yield
    finally:
        if not inside:
            _answers.discard(me)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _answers or threading.get_ident() not in _answers:
        return
    sentence = DISK if event == "open" and _writes(*arguments) else REFUSED.get(event)
    if sentence is not None:
        raise PermissionError(sentence)


def _unless_an_answer(start: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(start)
    def guarded(*arguments: Any, **options: Any) -> Any:
        if threading.get_ident() in _answers and not _is_the_limit():
            raise PermissionError(THREADS)
        return start(*arguments, **options)

    return guarded


def _writes(path: Any, mode: Any, flags: Any) -> bool:
    if isinstance(path, int) or str(path) in (os.devnull, os.fsencode(os.devnull)):
        return False  # open already, or nowhere
    return bool(set(mode) & set("wax+")) if isinstance(mode, str) else isinstance(flags, int) and bool(flags & WRITES)


def _is_the_limit() -> bool:
    frame = sys._getframe(2)
    for _ in range(NEAR):
        if frame.f_code.co_filename == LIMITS:
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False
