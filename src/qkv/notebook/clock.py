"""A line below a cell that takes long, so that nobody wonders whether it still runs.

JupyterLab shows `[*]` and nothing else while a model trains. The line comes after two seconds, counts them, and is gone
when the cell has ended.
"""

from __future__ import annotations

import threading
from html import escape
from typing import Any

AFTER = 2.0  # seconds of silence before the line appears
EVERY = 1.0


class Clock:
    """The line below the cell that runs, shown from a thread of its own."""

    def __init__(self, shell: Any, after: float = AFTER, every: float = EVERY) -> None:
        self.shell, self.after, self.every = shell, after, every
        self._ended: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def install(self) -> None:
        """Count from the next cell on."""
        self.shell.events.register("pre_run_cell", self.begin)
        self.shell.events.register("post_run_cell", self.end)

    def begin(self, info: Any = None) -> None:
        """A cell begins."""
        self.end()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._count, args=(self._ended,), daemon=True)
        self._thread.start()

    def end(self, result: Any = None) -> None:
        """The cell has ended, also by an exception."""
        if self._ended is None or self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._ended = self._thread = None

    def _count(self, ended: threading.Event) -> None:
        seconds, shown = self.after, False
        if ended.wait(self.after):
            return
        while True:
            self._publish(f"running, {seconds:.0f} s …", shown)
            shown = True
            if ended.wait(self.every):
                break
            seconds += self.every
        self._publish("", shown)

    def _publish(self, text: str, shown: bool) -> None:
        page = f'<span role="timer" style="opacity:.75">{escape(text)}</span>' if text else ""
        self.shell.display_pub.publish(
            {"text/html": page, "text/plain": ""}, transient={"display_id": f"qkv-clock-{id(self)}"}, update=shown
        )
