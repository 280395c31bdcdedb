"""How far a build of the book is, from what Sphinx prints: a line that is written over at a terminal, and for others
a line for every tenth."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

MARK = "… "  # begins a line that says how far it is
STAGES = {"reading sources": "pages read", "writing output": "pages written"}
STEP = re.compile(rf"({'|'.join(STAGES)})\.\.\. \[ *(\d+)%\]")


def steps(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """What is being done, and how many per cent of it are done; each only when it changes."""
    last = ("", -1)
    for line in lines:
        if found := STEP.search(line):
            now = STAGES[found[1]], int(found[2])
            if now != last:
                yield now
            last = now


class HowFar:
    """Says how far it is; `on` are lines of the build's output, handed over as they come."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self.out, self.terminal = out, out.isatty()
        self.said = ("", -1)

    def on(self, line: str) -> None:
        for what, percent in steps([line]):
            now = what, percent if self.terminal else percent // 10
            if now == self.said:
                continue
            self.said = now
            if self.terminal:
                print(f"\rBuilding the book: {what}, {percent} %  ", end="", flush=True, file=self.out)
            else:
                print(f"{MARK}{what}, {percent} %", flush=True, file=self.out)

    def end(self) -> None:
        if self.terminal:
            print("\r" + " " * 50 + "\r", end="", flush=True, file=self.out)
