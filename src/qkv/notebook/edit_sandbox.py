"""The sandbox for edited versions of a student's answer, on the student's own machine.

An edit can turn "delete all but the newest three" into "delete all". So the search for a line (`proctor.locate`) runs
in a sandbox like the grader's, which is started when it is first needed and lives as long as this process. Without a
sandbox, only answers whose text reaches nothing but tensors are searched, in this process.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import Any

from proctor import Exercise
from proctor.inside.running import Job
from proctor.locate.harmless import is_harmless
from proctor.locate.where import ReferenceValues
from proctor.marking import probe_pickle
from proctor.marking.in_process import InProcess
from proctor.marking.line_search import LineSearch
from proctor.marking.submission_marker import Session
from proctor.sandbox import Fault, Limits, Refused, Sandbox, choose
from qkv import exercises
from qkv.assignments import assignment
from qkv.notebook import kernel

SOON = 1.0  # seconds after which a progress line is shown
STARTING = "Starting a sandbox to look for the line …"

_reference_values = ReferenceValues()  # one cache per process
_sandboxes: dict[str, Sandbox] = {}  # by chapter; one at most


class Progress:
    """A progress line, removed at the end: below the cell in a notebook, where JupyterLab would keep a red stripe of
    what is written to stderr; else on the terminal."""

    def __init__(self) -> None:
        self.shown = False
        shell = kernel.interactive()
        self.shell: Any = shell if hasattr(shell, "kernel") else None  # IPython in a terminal has no page either
        self.display_id = f"qkv-search-{id(self)}"

    def say(self, text: str) -> None:
        if self.shell is None:
            print(f"\r{text:<60}", end="", flush=True, file=sys.stderr)
        else:
            self._publish({"text/html": f'<span role="status" style="opacity:.75">{escape(text)}</span>'})
        self.shown = True

    def _publish(self, data: dict[str, str]) -> None:
        self.shell.display_pub.publish(
            {"text/plain": "", **data}, transient={"display_id": self.display_id}, update=self.shown
        )

    def show_tried(self, tried: int) -> None:
        self.say(f"Looking for the line: {tried} small changes tried …")

    @contextmanager
    def soon(self, text: str) -> Iterator[None]:
        """Show this text if the block takes long."""
        timer = threading.Timer(SOON, self.say, [text])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def end(self) -> None:
        if self.shown and self.shell is None:
            print("\r" + " " * 60 + "\r", end="", flush=True, file=sys.stderr)
        elif self.shown:
            self._publish({"text/html": ""})


def sandboxed_line_search(progress: Progress, candidates: int = 1000, seconds: float = 20.0) -> LineSearch:
    """A line search whose edited answers never run with the student's own permissions."""

    def elsewhere(name: str, job: Job) -> AbstractContextManager[Session] | None:
        with progress.soon(STARTING):
            found = chapter_sandbox(name)
        if found is not None:
            return found.session()
        packages = assignment((name,)).packages
        if not is_harmless([cell.source for cell in job.cells], packages):
            return None
        functions = {probe.name: probe.function for probe in exercises.get_code(name).probes.values()}
        return InProcess({name: functions}, lambda _: {}, Limits()).session()

    return LineSearch(
        candidates, seconds, reference_values=_reference_values, elsewhere=elsewhere, on_progress=progress.show_tried
    )


def chapter_sandbox(name: str) -> Sandbox | None:
    """The sandbox of this process, with the probes of an exercise's chapter; None if this machine has no sandbox."""
    chapter = exercises.chapter_of(name)
    if chapter not in _sandboxes:
        close()
        try:
            choose()
            chosen = assignment(exercises.names_of(chapter))
            found: list[Exercise] = chosen.of_code
            sandbox = Sandbox(probe_pickle.dumps(found), packages=chosen.packages)
            sandbox.start()
        except (Refused, Fault, OSError):
            return None
        _sandboxes[chapter] = sandbox
    return _sandboxes[chapter]


@atexit.register
def close() -> None:
    """End the sandbox, if there is one."""
    while _sandboxes:
        _sandboxes.popitem()[1].close()
