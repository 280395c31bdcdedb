"""A result as text for a terminal: coloured where the terminal takes colour, plain elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from proctor.examining.result import Result, State

COLOURS: dict[State, str] = {"passed": "32", "not_yet": "33", "not_started": "90", "stopped": "31", "fault": "35"}


def terminal_text(result: Result, colour: bool = False) -> str:
    """The result's message, with its headline in the colour of its state on request."""
    first, *rest = result.message.split("\n")
    if colour:
        first = f"\x1b[1;{COLOURS[result.state]}m{first}\x1b[0m"
    if result.printed and result.state != "passed":
        rest += ["Your code printed:", *(f"  {line}" for line in first_lines(result.printed))]
    return "\n".join([first, *rest])


def first_lines(printed: str, most: int = 20) -> list[str]:
    """The first lines of what was printed."""
    lines = printed.rstrip("\n").splitlines()
    return lines if len(lines) <= most else [*lines[:most], f"… and {len(lines) - most} more lines"]


def takes_colour(stream: TextIO = sys.stdout) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ
