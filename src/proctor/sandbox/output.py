"""What a submission prints: the beginning is kept, the rest forgotten, a flood stopped."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NoReturn


class Output(io.TextIOBase):
    """Takes what is printed: keeps the beginning, forgets the rest, stops a flood."""

    def __init__(self, kept: int, limit: int, flood: Callable[[], NoReturn]) -> None:
        self.kept, self.limit, self.flood = kept, limit, flood
        self.count = 0
        self.parts: list[str] = []

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.count < self.kept:
            self.parts.append(text[: self.kept - self.count])
        self.count += len(text)
        if self.count > self.limit:
            self.flood()
        return len(text)

    @property
    def buffer(self) -> _Bytes:
        return _Bytes(self)

    def text(self) -> str:
        return "".join(self.parts)


class _Bytes(io.RawIOBase):
    """sys.stdout.buffer, counted with the rest."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raw = bytes(data)
        self.output.write(raw.decode("utf-8", "replace"))
        return len(raw)
