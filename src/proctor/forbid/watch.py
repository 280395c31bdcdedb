"""Calls that are only noted: of what a course withholds of its own, and of parts of torch that come in while student
code runs, too late for `proctor.forbid.python_functions`. Python's own profiler sees them.
"""

from __future__ import annotations

import cProfile
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any

from proctor.forbid.family import Family
from proctor.forbid.python_functions import TORCH, is_torch

Withheld = Mapping[tuple[str, str], str]  # (file, function or class in it) -> how to speak of a call of it


class Watch:
    """Python functions that are called, and which of them the families forbid, or are withheld.

    The profiler counts calls in C and is asked afterwards: less than a hook in Python would take, and still two
    thirds of what the probes themselves take. So it listens from the start only where something is withheld.
    """

    def __init__(self, families: Sequence[Family], withheld: Withheld) -> None:
        self.families, self.withheld = families, withheld
        self.profiler: cProfile.Profile | None = None
        self.before: Any = None  # who profiled
        self.judged: dict[CodeType, str] = {}

    def start(self) -> None:
        """Start the profiler. Nothing is recorded while a tool runs that tolerates no second one, such as Python's own
        profiler from 3.12 on; in a sandbox none does."""
        if self.profiler is not None:
            return
        self.before = sys.getprofile()
        if hasattr(self.before, "enable"):  # cProfile's, which Python gives back but does not take
            self.before.disable()
        self.profiler = cProfile.Profile(subcalls=False, builtins=False)
        with suppress(ValueError):
            self.profiler.enable()

    def stop(self) -> None:
        if self.profiler is None:
            return
        with suppress(ValueError):
            self.profiler.disable()
        if hasattr(self.before, "enable"):
            self.before.enable()
        elif self.before is not None:
            sys.setprofile(self.before)
        self.profiler = None

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Import hook: start the profiler at the first import from torch. Finds no module itself."""
        if self.families and is_torch(name):
            self.start()

    def called(self) -> list[str]:
        """The forbidden calls since the last `called`, in words."""
        if self.profiler is None:
            return []
        found = [said for entry in self.profiler.getstats() if (said := self._title_of_call(entry.code))]
        self.profiler.clear()
        return found

    def _title_of_call(self, code: CodeType | str) -> str:
        """The words for a call of this function; empty if it is allowed."""
        if isinstance(code, str):  # a function without code of its own
            return ""
        if code not in self.judged:
            said = self.withheld.get((code.co_filename, code.co_qualname.partition(".")[0]), "")
            if code.co_filename.startswith(TORCH):
                said = next((s for f in self.families if (s := f.names(code.co_qualname))), "")
            self.judged[code] = said
        return self.judged[code]


@contextmanager
def watching(families: Sequence[Family], withheld: Withheld) -> Iterator[Watch]:
    """Watch what is called inside the block."""
    watch = Watch(families, withheld)
    if withheld:
        watch.start()
    sys.meta_path.insert(0, watch)
    try:
        yield watch
    finally:
        watch.stop()
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not watch]
