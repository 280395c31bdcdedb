"""torch's compiler, left out until somebody really asks for it.

Many of torch's own functions import it, only to say that they are not to be compiled. That takes longer than torch
itself, and every child would carry its memory along. Here they find a stand-in that knows these words.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import ModuleType
from typing import Any

import torch

NAME = "torch._dynamo"


class StandIn(ModuleType):
    """Says that functions stay as they are; whatever else is asked of it loads the real one."""

    @staticmethod
    def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
        return fn if fn is not None else lambda function: function

    @staticmethod
    def graph_break(*args: Any, **options: Any) -> None: ...

    class compiled_autograd:  # a module of the real one; torch.func asks for this
        _disable = contextlib.nullcontext

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # `inspect` looks for these in every module
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        return getattr(importlib.import_module(NAME), name)


def leave_out() -> None:
    """Put the stand-in where torch looks, unless the real one is there already."""
    if NAME not in sys.modules:
        sys.modules[NAME] = torch._dynamo = StandIn(NAME)
