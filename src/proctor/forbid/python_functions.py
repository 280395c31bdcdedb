"""Forbidden functions that torch has in Python, made of kernels that are allowed: while they are forbidden, their code
is exchanged for one that refuses. That costs nothing per call, whatever name they are reached by.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, compress, islice, repeat, takewhile, tee
from operator import is_
from pathlib import Path
from threading import RLock
from types import CodeType, FunctionType
from typing import Any

import torch

from proctor.forbid.family import Family

TORCH = str(Path(torch.__file__).parent)
Refusal = Callable[..., None]


class LoadedFunctions:
    """The functions of torch's Python files in memory. Those imported later are added on the next access.

    A look at all objects takes a tenth of a second, and in a sandbox's child it would copy their pages. So it is only
    taken again when torch has grown. A notebook takes the first one in a thread, while its reader may already check.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.last = ""  # the module that was loaded last when they were looked for
        self.functions: dict[int, FunctionType] = {}  # by identity, in the order in which they were found
        self.forbidden: dict[Family, tuple[int, list[tuple[FunctionType, str]]]] = {}  # of how many, which

    def named_by(self, family: Family) -> list[tuple[FunctionType, str]]:
        """(function, how to speak of a call of it) of all that a family forbids."""
        with self.lock:
            self.scan()
            count, found = self.forbidden.get(family, (0, []))
            if count < len(self.functions):
                new = islice(self.functions.values(), count, None)
                named = ((function, family.names(function.__code__.co_qualname)) for function in new)
                found = [*found, *((function, said) for function, said in named if said)]
                self.forbidden[family] = len(self.functions), found
            return found

    def scan(self) -> None:
        """Scan for functions if torch has grown. `gc.freeze` hides existing objects from this, so scan before."""
        with self.lock:
            new = list(takewhile(lambda name: name != self.last, reversed(sys.modules)))
            if not new:
                return
            self.last = new[0]
            if any(map(is_torch, new)):
                self.functions |= {id(f): f for f in all_functions() if f.__code__.co_filename.startswith(TORCH)}


def all_functions() -> list[FunctionType]:
    """Every function of Python that is in memory.

    Among all objects are tuples that other threads are still filling, and CPython gives up on such a tuple with a
    SystemError when anybody else holds it. So the list of all objects is made, filtered and emptied within one call,
    of C alone, during which no other thread runs.
    """
    once, again, at_the_end = tee(map(gc.get_objects, [None]), 3)  # an iterator over one list, which is not made yet
    types = map(type, chain.from_iterable(again))
    functions = compress(chain.from_iterable(once), map(is_, types, repeat(FunctionType)))
    return list(chain(functions, map(list.clear, at_the_end)))[:-1]  # without what `clear` returns


LOADED = LoadedFunctions()


def is_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


@contextmanager
def refusing(families: Sequence[Family], refusal: Callable[[str], Refusal]) -> Iterator[None]:
    """Inside the block, functions of torch's Python files that a family forbids refuse.

    Args:
        refusal: how to speak of a call -> what happens instead of it.
    """
    found = [(function, refusal(said)) for family in families for function, said in LOADED.named_by(family)]
    before = [(function, function.__code__) for function, _ in found]
    try:
        for function, refuse in found:
            function.__code__ = calling(refuse, len(function.__code__.co_freevars))
        yield
    finally:
        for function, code in reversed(before):
            function.__code__ = code


def calling(refuse: Refusal, cells: int) -> CodeType:
    """Code that calls this, for a function which keeps its own globals and has so many cells."""
    template = _template(cells)
    return template.replace(co_consts=tuple(refuse if value == _PLACE else value for value in template.co_consts))


_PLACE = "what is called"


@cache
def _template(cells: int) -> CodeType:
    kept = ", ".join(f"cell_{i}" for i in range(cells)) or "None"
    lines = [
        "def outer():",
        *(f"    cell_{i} = None" for i in range(cells)),
        "    def inner(*args, **options):",
        f"        called = {_PLACE!r}",
        f"        return called(*args, **options), {kept}",
        "    return inner",
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    code: CodeType = names["outer"]().__code__
    return code
