"""While an exercise runs, what it forbids does not exist: torch's own kernels are replaced by ones that refuse.

`proctor.forbid` records forbidden calls by watching them from Python, which is right for a notebook. Inside the sandbox
the kernels themselves are taken away, because that holds for every way of reaching them (another spelling, TorchScript,
`torch.ops`, watching switched off, another thread), and because it costs nothing per call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch.nn.functional

from proctor import forbid
from proctor.forbid import Family

_BACKENDS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU")


class Forbidden(RuntimeError):
    """The exercise asks to do without this."""


# Made of other operators of each family that has them: these are refused when they come to those. Every kernel that is
# replaced costs each child some pages.
_COMPOSED = {"softmax", "log_softmax", "special_softmax", "special_log_softmax", "_safe_softmax"}


@cache
def kernels(operator: str) -> tuple[tuple[str, str], ...]:
    """(overload, backend) of everything that can be reached in `torch.ops.aten` under this name."""
    packet = getattr(torch.ops.aten, operator, None)
    if packet is None or operator in _COMPOSED:
        return ()
    names = [operator if overload == "default" else f"{operator}.{overload}" for overload in packet.overloads()]
    own = torch._C._dispatch_has_kernel_for_dispatch_key
    works = torch._C._dispatch_has_computed_kernel_for_dispatch_key  # its own, or one that is made of other operators
    return tuple((n, b) for n in names for b in _BACKENDS if (works if b == "CPU" else own)(f"aten::{n}", b))


def families() -> list[Family]:
    """All that `proctor.forbid` names."""
    return [family for family in vars(forbid).values() if isinstance(family, Family)]


class Blocker:
    """Takes away families of operators, and gives them back.

    Args:
        families: all that may be forbidden in this process. Their functions in `torch.nn.functional` that are no
            operators of their own are wrapped at once, before anybody can keep a reference to the original.
    """

    def __init__(self, families: Iterable[Family] = ()) -> None:
        self.called: list[str] = []
        self.active: tuple[Family, ...] = ()
        self.guarded: set[str] = set()
        self.guard(families)

    def guard(self, families: Iterable[Family]) -> None:
        """Get ready to take these away as well."""
        for operator in sorted({name for family in families for name in family.operators} - self.guarded):
            self.guarded.add(operator)
            original = getattr(torch.nn.functional, operator, None)
            kernels(operator)  # looked up once
            if original is not None and not hasattr(torch.ops.aten, operator):
                setattr(torch.nn.functional, operator, self._guarded(operator, original))

    def _guarded(self, operator: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **options: Any) -> Any:
            for family in self.active:
                if operator in family.operators:
                    self._refuse(family)
            return original(*args, **options)

        guarded.__name__ = operator
        return guarded

    def _refusal(self, family: Family) -> Callable[..., None]:
        return lambda *args, **options: self._refuse(family)

    def _refuse(self, family: Family) -> None:
        if family.title not in self.called:
            self.called.append(family.title)
        raise Forbidden(f"this exercise asks you to do without {family.title}")

    def taken(self) -> tuple[str, ...]:
        """Titles of the families that were called since this was last asked."""
        called, self.called = tuple(self.called), []
        return called

    @contextmanager
    def without(self, families: Sequence[Family]) -> Iterator[None]:
        """Inside the block calls of these families raise `Forbidden`."""
        self.called, self.active = [], tuple(families)
        if not families:
            yield
            return
        library = torch._C._dispatch_library("IMPL", "aten", "", __name__, 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch warns once that a kernel is replaced: that is the point
                for family in families:
                    refuse = self._refusal(family)
                    for kernel in (kernel for operator in family.operators for kernel in kernels(operator)):
                        library.impl(*kernel, refuse)
            yield
        finally:
            library.reset()
            self.active = ()
