"""Nobody is there while an answer runs: who asks is told so at once, instead of waiting for an answer."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def asks_nobody(prompt: Any = "") -> NoReturn:
    raise EOFError("nobody answers `input()` while an answer is checked: take the value as an argument")


@contextmanager
def nobody_there() -> Iterator[None]:
    """Make `input()` raise inside the block."""
    before, builtins.input = builtins.input, asks_nobody
    try:
        yield
    finally:
        builtins.input = before
