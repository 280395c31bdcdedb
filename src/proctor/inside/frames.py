"""Frames that cross the sandbox's wall: kind, length, names, JSON. For tensors see `protocol`.

The writing half runs next to student code, so its frames are as hostile as the submission. The reading half runs in the
trusted process: it raises nothing but `Garbage` or `TooLarge` (ValueErrors), and returns short printable text.
No torch here: the trusted process speaks to a zygote before it has loaded its own.
"""

from __future__ import annotations

import json
import struct
from typing import Any

HEAD = struct.Struct(">cI")  # kind, length of the payload

# between the trusted process and the zygote
RUN, END_IT, BOOTED, FAILED = (bytes([c]) for c in b"rebf")
TIMES = 4  # that a child may be asked: as many descriptors come with RUN
STATUS = struct.Struct(">iQd")  # how a child ended (as waitpid has it), its peak memory in KB, its processor time

# between the trusted process and a child
READY, JOB, DEFINED, BEGIN, OBSERVED, OUTPUT, STOP, END, FAULT = (bytes([c]) for c in b"RJDBOPXEF")

MAX_TEXT = 1 << 20  # any frame without tensors


class Garbage(ValueError):
    """Received data that violate the protocol."""


class TooLarge(ValueError):
    """Received data that exceed the size limit."""


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """One frame, ready to be written."""
    return HEAD.pack(kind, len(payload)) + payload


_TO_JSON = json.JSONEncoder(separators=(",", ":"))  # made once: json.dumps would make one for every frame


def to_json(value: Any) -> bytes:
    """JSON in plain ASCII, so that no text can break the encoding."""
    return _TO_JSON.encode(value).encode("ascii")


def from_json(data: bytes) -> dict[str, Any]:
    """A JSON object, or Garbage."""
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Garbage(f"not JSON: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise Garbage("not a JSON object")
    return value


def clean(text: object, limit: int) -> str:
    """Printable text of bounded length: no control characters, no half characters. Escape it where it is shown."""
    if not isinstance(text, str):
        raise Garbage("text expected")
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text  # nearly always
    whole = text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
    return "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for c in whole.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    )


def one_line(text: str, limit: int) -> str:
    """`clean` for a name, which has neither line breaks nor tabs."""
    return clean(text, limit).replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\t", "\N{REPLACEMENT CHARACTER}")


def pair(first: str, second: str) -> bytes:
    """Two names as bytes."""
    return f"{first}\n{second}".encode()


def from_pair(data: bytes) -> tuple[str, str]:
    """Unpack two names packed by `pair`; raises Garbage for anything else."""
    try:
        first, second = data.decode("utf-8").split("\n")
    except ValueError:
        raise Garbage("two names expected") from None
    return first, second
