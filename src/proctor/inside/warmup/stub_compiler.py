"""torch's compiler, left out until code really uses it.

Many of torch's own functions import parts of it, only to say that they are not to be compiled, or to ask whether a size
is a symbol. That takes as long as torch itself, and every child would carry its memory along. Here they find stand-ins
for two modules inside torch, which know these few words, and that no size is a symbol: none is before the compiler
runs. They are for torch's own code: a submission that names one of the two gets the real ones before its first line
runs (`bring_back`), and no module outside torch is ever replaced. Once the real compiler is loaded nothing of the
stand-ins is left, so that a notebook in which answers are checked can compile what it likes.
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
        return getattr(real(self.__name__), name)


def leave_out() -> None:
    """Put the stand-ins where torch looks, unless the real ones are there already."""
    for name, known in KNOWN.items():
        if name not in sys.modules:
            sys.modules[name] = StandIn(name, known)
    torch._dynamo = sys.modules["torch._dynamo"]


def bring_back(texts: Iterable[str]) -> None:
    """Put the real modules where the stand-ins are, if one of these texts names one of them."""
    if any(name in text for text in texts for name in NAMES):
        for name in KNOWN:
            real(name)


def real(name: str) -> ModuleType:
    """The real module, which takes the place of its stand-in."""
    if isinstance(sys.modules.get(name), StandIn):
        del sys.modules[name]
        for function in _not_disabled:  # torch asks once and keeps the answer: let it ask again
            vars(function).pop("__dynamo_disable", None)
        _not_disabled.clear()
    return importlib.import_module(name)


_not_disabled: list[Any] = []  # functions of torch's that asked while there was no compiler


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """Return a function unchanged to torch's own `_compile`, the only caller that passes `wrapping`."""
    if fn is None or "wrapping" not in options:
        return real("torch._dynamo").disable(fn, recursive, **options)
    _not_disabled.append(fn)
    return fn


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
