"""Run one probe on one implementation and keep what can be compared: plain tensors, or how it ended.

The same file runs in a notebook, in the trusted process and in the sandbox's child, so all three see the same thing.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from proctor.forbid import Family, recording

LARGEST = 64 * 2**20  # bytes of one observed tensor: far above any probe, far below a memory bomb


@dataclass(frozen=True)
class Raised:
    """Student code ended in an exception."""

    kind: str
    message: str
    where: str = ""  # "cell 3, line 5: `scores = q @ k`", empty if unknown

    @property
    def unstarted(self) -> bool:
        """Is this the stub's own `raise NotImplementedError`, and not torch saying that it lacks an operation?"""
        return self.kind == "NotImplementedError" and (not self.message or "raise NotImplementedError" in self.where)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True)
class Observation:
    """What a probe saw: named tensors, or an exception; and which forbidden things were called."""

    values: dict[str, Tensor] | None
    raised: Raised | None = None
    called: tuple[str, ...] = ()


def observe(
    probe: Callable[[Any], Mapping[str, Any]], implementation: Any, forbid: tuple[Family, ...] = ()
) -> Observation:
    """Run the probe on the implementation; nothing that student code raises gets out."""
    called: list[str] = []
    try:
        with recording(forbid, called) if forbid else nullcontext():
            seen = probe(implementation)
        values = {str(name): plain(value, name) for name, value in seen.items()}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit included: leaving is not an answer
        return Observation(None, describe(error), tuple(called))
    return Observation(values, None, tuple(called))


class NotATensor(TypeError):
    """The result is of a kind that cannot be compared."""


def plain(value: Any, name: str = "result") -> Tensor:
    """A detached CPU tensor of ours: no subclass, no graph, no shared memory with the student's."""
    if isinstance(value, Tensor):
        if value.numel() * value.element_size() > LARGEST:
            raise NotATensor(f"{name} has {value.numel():,} entries, which is more than any answer here needs")
        if value.device.type == "meta":  # no numbers there: the shape is what there is to see
            return torch.tensor(value.shape, dtype=torch.int64)
        if value.layout != torch.strided:
            raise NotATensor(f"{name} is not a dense tensor (layout {value.layout})")
        value = value.detach().as_subclass(Tensor)
        if value.device.type != "cpu":
            value = value.cpu()
        if value.is_conj() or value.is_neg():  # a view that only says so
            value = value.resolve_conj().resolve_neg()
        return value.clone(memory_format=torch.contiguous_format)
    if isinstance(value, bool):
        return torch.tensor(value)
    if isinstance(value, int):
        return torch.tensor(value, dtype=torch.int64)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, list | tuple) and all(isinstance(item, int) for item in value):
        return torch.tensor(value, dtype=torch.int64)
    if value is None:
        raise NotATensor(f"{name} is None; is a `return` missing?")
    raise NotATensor(f"{name} is a {type(value).__name__}, expected a tensor")


def describe(error: BaseException) -> Raised:
    """Say what was raised and at which line of the student's code."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if is_students(f.filename)]
    where = ""
    if theirs:
        frame = theirs[-1]
        line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
        where = f"{place(frame.filename)}line {frame.lineno}" + (f": `{line[:120]}`" if line else "")
    try:
        message = str(error)
    except Exception:  # an exception class of the student's may fail at this too
        message = ""
    return Raised(type(error).__name__, message[:600], where)


def is_students(filename: str) -> bool:
    """A cell of a notebook or a submitted file, as opposed to a library's or one of ours."""
    return filename.startswith(("<ipython", "<cell", "<submission")) or "ipykernel_" in filename


def place(filename: str) -> str:
    """The label the sandbox compiled a cell under, as words: `<cell 3 of a.ipynb>` gives `cell 3 of a.ipynb, `."""
    if filename.startswith(("<cell", "<submission")):
        return filename.strip("<>").removeprefix("submission ") + ", "
    return ""
