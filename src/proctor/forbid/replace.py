"""Blocking of forbidden operators: while an exercise runs, torch's own kernels for them are replaced by ones that
refuse.

That holds for every way of reaching them (another spelling, TorchScript, `torch.ops`, kernels that contain them), and
costs nothing per call. So are functions that torch has in Python as well (`proctor.forbid.python_functions`). The same
in a notebook as in the sandbox, so that both see the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from proctor.forbid.family import Family, operators_by_name
from proctor.forbid.python_functions import LOADED, refusing
from proctor.forbid.watch import Watch, watching
from proctor.forbid.watch import Withheld as Withheld

_BACKENDS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU")


class Forbidden(RuntimeError):
    """A forbidden call, refused."""


@cache
def kernels(operator: str) -> tuple[tuple[str, str, str], ...]:
    """(namespace, overload, backend) of every kernel that can be reached under this name."""
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
    found = ((operator, kernels(operator)) for operator in sorted(family.operators - family.composed))
    return tuple((operator, theirs) for operator, theirs in found if theirs)


def prepare_families(families: Iterable[Family]) -> None:
    """Look up the kernels and functions of these families once, before student code runs."""
    LOADED.scan()
    for family in families:
        replacements(family)
        LOADED.named_by(family)


class Blocker:
    """Blocks families of operators, and restores them.

    Args:
        keep_blocked: leave kernels replaced after a block, until the next block or `take_away`. Replacing them takes as
            long as some probes, and the next block often forbids the same. Only for a process that runs nothing else.
    """

    def __init__(self, keep_blocked: bool = False) -> None:
        self.keep_blocked = keep_blocked
        self.libraries: dict[Family, list[Any]] = {}  # what is away, and how to get it back
        self.called: list[str] = []
        self.watch: Watch | None = None

    def _refusal(self, said: str) -> Callable[..., None]:
        def refuse(*args: Any, **options: Any) -> None:
            self._note(said)
            raise Forbidden(f"this exercise asks you to do without {said}")

        return refuse

    def _note(self, said: str) -> None:
        if said not in self.called:
            self.called.append(said)

    def _take_note(self, watch: Watch) -> None:
        for said in watch.called():
            self._note(said)

    def pop_calls(self) -> tuple[str, ...]:
        """The forbidden calls since the last `pop_calls`, in words."""
        if self.watch is not None:
            self._take_note(self.watch)
        called, self.called = tuple(self.called), []
        return called

    @contextmanager
    def without(self, families: Sequence[Family], withheld: Withheld | None = None) -> Iterator[None]:
        """Inside the block calls of these families, and of what is withheld, raise `Forbidden` or are noted."""
        self.called = []
        if not self.keep_blocked and not families and not withheld:
            yield
            return
        try:
            self.take_away(families)
            with refusing(families, self._refusal), watching(families, withheld or {}) as self.watch:
                try:
                    yield
                finally:
                    self._take_note(self.watch)
        finally:
            self.watch = None
            if not self.keep_blocked:
                self.take_away(())

    def take_away(self, families: Sequence[Family]) -> None:
        """Replace the kernels of these families from now on, and give back those of all others."""
        for family in [family for family in self.libraries if family not in families]:
            for library in self.libraries.pop(family):
                library.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns once that a kernel is replaced: that is the point
            for family in families:
                if family not in self.libraries:
                    self._replace(family)

    def _replace(self, family: Family) -> None:
        libraries: dict[str, Any] = {}
        self.libraries[family] = []
        for operator, theirs in replacements(family):
            refuse = self._refusal(family.names(operator))
            for space, name, backend in theirs:
                if space not in libraries:
                    libraries[space] = torch._C._dispatch_library("IMPL", space, "", __name__, 1)
                    self.libraries[family].append(libraries[space])
                libraries[space].impl(name, backend, refuse)
