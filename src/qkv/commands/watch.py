"""`qkv watch`: check a notebook or a Python file on every save, for people who like an editor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from proctor import Result
from qkv import exercises
from qkv.notebook import places, progress
from qkv.notebook.checking import counts_by_state, in_terminal, recorded, unreported
from qkv.notebook.review import is_review

EVERY = 0.3  # seconds between two looks at the file


def watch_file(path: Path, say: Callable[[str], None] = print, wait: Callable[[float], None] = time.sleep) -> int:
    """Check a file now and after every change, until Ctrl-C. Says what is new since the last time; returns 0."""
    said: dict[str, str] = {}
    try:
        for _ in contents_on_change(path, wait):
            results, problems = recorded(path)
            for sentence in unreported(problems, results):
                say(sentence)
            for result in results:
                if result.state != "not_started" and said.get(result.exercise) != result.message:
                    say(in_terminal(result) + "\n")
                said[result.exercise] = result.message
            say(what_comes_next(results, path))
            say(f"{time.strftime('%H:%M:%S')}  {counts_by_state(results)}. Waiting for the next save; Ctrl-C ends.")
    except KeyboardInterrupt:
        return 0
    return 0


def what_comes_next(results: Sequence[Result], path: Path) -> str:
    """The first exercise of the file that does not pass; or how to go on where all do."""
    left = next((result.exercise for result in results if result.state != "passed"), None)
    if left is not None:
        return f"Next in this file: {places.exercise_number(left)} {left} ({exercises.get(left).effort})."
    if not results:
        return f"There is no exercise in {path.name} yet; `qkv stub 01` writes some."
    following = progress.exercise_after(results[-1].exercise)
    if following is None or is_review(path):
        return "All exercises of this file pass."
    chapter = places.chapter_number(exercises.chapter_of(following))
    return (
        f"All exercises of this file pass. Next: {following}; `qkv stub {chapter:02}` writes the stubs of its chapter."
    )


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
