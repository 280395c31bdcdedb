"""Calls of forbidden functions that torch has in Python, made of kernels that are allowed: Python's own profiling hook
sees them, and what a course withholds of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from proctor.forbid.family import Family

_TORCH = str(Path(torch.__file__).parent)

Withheld = Mapping[tuple[str, str], str]  # (file, function or class in it) -> how to speak of a call of it


@contextmanager
def watching(families: Sequence[Family], withheld: Withheld, note: Callable[[str], None]) -> Iterator[None]:
    """Inside the block `note` hears of calls that the families forbid or that are withheld, in words."""
    before = sys.getprofile()
    sys.setprofile(_hook(families, withheld, note))
    try:
        yield
    finally:
        sys.setprofile(None)
        resume = getattr(before, "enable", None)  # cProfile's, which Python gives back but does not take
        if resume is not None:
            resume()
        elif before is not None:
            sys.setprofile(before)


def _hook(
    families: Sequence[Family], withheld: Withheld, note: Callable[[str], None]
) -> Callable[[FrameType, str, Any], None]:
    judged: dict[CodeType, str] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        said = judged.get(code)
        if said is None:
            said = withheld.get((code.co_filename, code.co_qualname.partition(".")[0]), "")
            if code.co_filename.startswith(_TORCH):
                said = next((s for f in families if (s := f.names(code.co_qualname))), "")
            judged[code] = said
        if said:
            note(said)

    return watch
