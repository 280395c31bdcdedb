"""torch's compiler, left out until code really uses it.

Many of torch's own functions import parts of it, only to say that they are not to be compiled, or to ask whether a size
is a symbol. That takes as long as torch itself, and every child would carry its memory along. Here they find stand-ins
for two modules inside torch, which know these few words, and that no size is a symbol: none is before the compiler
runs. They are for torch's own code: a submission that names one of the two gets the real ones before its first line
runs (`bring_back`), and no module outside torch is ever replaced.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import torch


class StandIn(ModuleType):
    """A stand-in that knows some names of a module; any other attribute loads the real one."""

    def __init__(self, name: str, known: dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not (name == "__path__" and self.__name__ in PACKAGES):
            raise AttributeError(name)  # `inspect` looks for these in every module
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def leave_out() -> None:
    """Put the stand-ins where torch looks, unless the real ones are there already."""
    for name, known in KNOWN.items():
        if name not in sys.modules:
            sys.modules[name] = StandIn(name, known)
    torch._dynamo = sys.modules["torch._dynamo"]


def bring_back(texts: Iterable[str]) -> None:
    """Put the real modules where the stand-ins are, if one of these texts names one of them."""
    if not any(name in text for text in texts for name in NAMES):
        return
    for name in KNOWN:
        if isinstance(sys.modules.get(name), StandIn):
            del sys.modules[name]
            importlib.import_module(name)


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    return fn if fn is not None else lambda function: function


def graph_break(*args: Any, **options: Any) -> None: ...


class compiled_autograd:  # a module of the real one; torch.func asks for this
    _disable = contextlib.nullcontext


def every(first: Any, *others: Any) -> Any:
    return functools.reduce(operator.and_, others, first)


def some(first: Any, *others: Any) -> Any:
    return functools.reduce(operator.or_, others, first)


def same(x: Any, y: Any) -> bool:
    if isinstance(x, list | tuple) and isinstance(y, list | tuple):
        return len(x) == len(y) and all(map(same, x, y))
    return bool(x == y)


def itself(value: Any, **options: Any) -> Any:
    return value


def always(value: object) -> bool:
    return True


def never(value: object) -> bool:
    return False


KNOWN: dict[str, dict[str, Any]] = {
    "torch._dynamo": {"disable": disable, "graph_break": graph_break, "compiled_autograd": compiled_autograd},
    "torch.fx.experimental.symbolic_shapes": {
        "guard_or_false": bool,
        "guard_or_true": bool,
        "expect_true": bool,
        "guard_int": int,
        "guard_size_oblivious": bool,
        "guarding_hint_or_throw": itself,
        "size_hint": itself,  # torch 2.10 asks for it, 2.13 no longer does
        "statically_known_true": bool,
        "has_guarding_hint": always,
        "is_nested_int": never,
        "sym_and": every,
        "sym_or": some,
        "sym_eq": same,
    },
}
PACKAGES = ("torch._dynamo",)
NAMES = tuple(name.rpartition(".")[2] for name in KNOWN)
