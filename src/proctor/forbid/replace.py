"""While an exercise runs, what it forbids does not exist: torch's own kernels are replaced by ones that refuse.

That holds for every way of reaching them (another spelling, TorchScript, `torch.ops`, kernels that contain them), and
costs nothing per call. What torch has in Python as well, made of other kernels, is seen by Python's own profiling hook
when it is called. The same in a notebook as in the sandbox, so that both see the same.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from proctor.forbid.family import Family, operators_by_name

_BACKENDS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU")
_TORCH = str(Path(torch.__file__).parent)

# Made of other operators of each family that has them: these are refused when they come to those. Every kernel that is
# replaced costs each child some pages.
_COMPOSED = {"softmax", "log_softmax", "special_softmax", "special_log_softmax", "_safe_softmax"}


Withheld = Mapping[tuple[str, str], str]  # (file, function or class in it) -> how to speak of a call of it


class Forbidden(RuntimeError):
    """The exercise asks to do without this."""


@cache
def kernels(operator: str) -> tuple[tuple[str, str, str], ...]:
    """(namespace, overload, backend) of every kernel that can be reached under this name."""
    if operator in _COMPOSED:
        return ()
    own = torch._C._dispatch_has_kernel_for_dispatch_key
    works = torch._C._dispatch_has_computed_kernel_for_dispatch_key  # its own, or one that is made of other operators
    return tuple(
        (full.partition("::")[0], full.partition("::")[2], backend)
        for full in operators_by_name().get(operator, ())
        for backend in _BACKENDS
        if (works if backend == "CPU" else own)(full, backend)
    )


@cache
def replacements(family: Family) -> tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]:
    """(operator, its kernels) of everything that a family takes away."""
    found = ((operator, kernels(operator)) for operator in sorted(family.operators))
    return tuple((operator, theirs) for operator, theirs in found if theirs)


class Blocker:
    """Takes away families of operators, and gives them back."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def _refusal(self, said: str) -> Callable[..., None]:
        def refuse(*args: Any, **options: Any) -> None:
            self._note(said)
            raise Forbidden(f"this exercise asks you to do without {said}")

        return refuse

    def _note(self, said: str) -> None:
        if said not in self.called:
            self.called.append(said)

    def taken(self) -> tuple[str, ...]:
        """What was called since this was last asked, in words."""
        called, self.called = tuple(self.called), []
        return called

    @contextmanager
    def without(self, families: Sequence[Family], withheld: Withheld | None = None) -> Iterator[None]:
        """Inside the block calls of these families, and of what is withheld, raise `Forbidden` or are noted."""
        self.called = []
        if not families and not withheld:
            yield
            return
        libraries: dict[str, Any] = {}
        before = sys.getprofile()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch warns once that a kernel is replaced: that is the point
                for family in families:
                    for operator, theirs in replacements(family):
                        refuse = self._refusal(family.names(operator))
                        for space, name, backend in theirs:
                            if space not in libraries:
                                libraries[space] = torch._C._dispatch_library("IMPL", space, "", __name__, 1)
                            libraries[space].impl(name, backend, refuse)
            sys.setprofile(self._watch(families, withheld or {}))
            yield
        finally:
            sys.setprofile(None)
            resume = getattr(before, "enable", None)  # cProfile's, which Python gives back but does not take
            if resume is not None:
                resume()
            elif before is not None:
                sys.setprofile(before)
            for library in libraries.values():
                library.reset()

    def _watch(self, families: Sequence[Family], withheld: Withheld) -> Callable[[FrameType, str, Any], None]:
        """Notes calls of functions in torch's own Python files that a family forbids, and of those withheld."""
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
                self._note(said)

        return watch
