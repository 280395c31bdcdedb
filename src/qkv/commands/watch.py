"""`qkv watch`: check a notebook or a Python file on every save, for people who like an editor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from proctor.report import terminal
from qkv.notebook import progress
from qkv.notebook.checking import check_file, counts_by_state, unreported

EVERY = 0.3  # seconds between two looks at the file


def watch_file(path: Path, say: Callable[[str], None] = print, wait: Callable[[float], None] = time.sleep) -> int:
    """Check a file now and after every change, until Ctrl-C. Says what is new since the last time; returns 0."""
    said: dict[str, str] = {}
    try:
        for _ in contents_on_change(path, wait):
            results, problems = check_file(path)
            for sentence in unreported(problems, results):
                say(sentence)
            for result in results:
                progress.record(result)
                if result.state != "not_started" and said.get(result.exercise) != result.message:
                    say(terminal.terminal_text(result, colour=terminal.takes_colour()) + "\n")
                said[result.exercise] = result.message
            say(f"{time.strftime('%H:%M:%S')}  {counts_by_state(results)}. Waiting for the next save; Ctrl-C ends.")
    except KeyboardInterrupt:
        return 0
    return 0


def contents_on_change(path: Path, wait: Callable[[float], None]) -> Iterator[bytes]:
    """Yield the content of a file whenever it changes. An editor may remove the file for a moment to replace it."""
    last: bytes | None = None
    stamp: tuple[int, int] | None = None
    while True:
        try:
            status = path.stat()
            if (status.st_mtime_ns, status.st_size) != stamp:
                content = path.read_bytes()
                stamp = status.st_mtime_ns, status.st_size
                if content != last and content.strip():
                    last = content
                    yield content
        except OSError:
            stamp = None
        wait(EVERY)
