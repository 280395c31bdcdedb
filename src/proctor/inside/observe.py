"""Run one probe on one implementation and keep what can be compared: plain tensors, or how it ended.

The same file runs in a notebook, in the trusted process and in the sandbox's child, so all three see the same thing.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import random
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from proctor.inside.inputs import UnknownDraw
from proctor.inside.quote import short

LARGEST = 64 * 2**20  # bytes of one observed tensor: far above any probe, far below a memory bomb
A_RETURN_MISSING = " Is a `return` missing?"
STUDENTS = "<ipython", "<cell", "<submission"  # how the files of student code begin that has no file


@dataclass(frozen=True)
class Raised:
    """An exception of student code, or a return value that cannot be compared."""

    kind: str  # class name of the exception
    message: str  # its text
    where: str = ""  # "cell 3, line 5: `scores = q @ k`"; empty if no line of the student's was running
    returned: str = ""  # where none was: what the student's code had returned, in words

    @property
    def ours(self) -> bool:
        """Is the exception one of ours, which says what cannot be compared? Student code did not raise it."""
        return self.kind in (NotATensor.__name__, UnknownDraw.__name__) and not self.where

    @property
    def unstarted(self) -> bool:
        """Is this the stub's own `raise NotImplementedError`, and not torch saying that it lacks an operation?"""
        return self.kind == "NotImplementedError" and (not self.message or "raise NotImplementedError" in self.where)

    @property
    def line(self) -> int | None:
        """The number of the student's line, if it is known."""
        found = re.search(r"\bline (\d+)", self.where)
        return int(found[1]) if found else None

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True)
class Observation:
    """The result of one probe: named tensors or an exception, forbidden calls, deprecation warnings."""

    values: dict[str, Tensor] | None  # named tensors; None if there are none to compare
    raised: Raised | None = None
    called: tuple[str, ...] = ()  # forbidden calls, in words
    deprecated: tuple[str, ...] = ()  # deprecation warnings
    printed: str = ""  # as far as somebody listened


def _deprecation_filters() -> tuple[Any, ...]:
    """Warning filters that let only deprecation warnings through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("always", category)
        return tuple(warnings.filters)


HEARD = _deprecation_filters()


def observe(probe: Callable[[Any], Mapping[str, Any]], implementation: Any) -> Observation:
    """Run the probe on the implementation; nothing that student code raises gets out."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.filters[:] = HEARD  # type: ignore[index]
        try:
            seen = probe(implementation)
            values = {str(name): plain(value, name) for name, value in seen.items()}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit included: leaving is not an answer
            return Observation(None, describe_exception(error, probe, implementation))
    about = [w for w in warned if is_students(w.filename) or w.filename == source_file_of(implementation)]
    return Observation(values, deprecated=tuple(dict.fromkeys(str(w.message)[:300] for w in about))[:3])


@contextmanager
def fresh_state() -> Iterator[None]:
    """Run the block with the global state of a new interpreter, and restore the state afterwards. No answer affects
    another, and no verdict depends on what ran before."""
    grad, dtype, device = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()
    deterministic, anomaly = torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled()
    precision, depth = torch.get_float32_matmul_precision(), sys.getrecursionlimit()
    state, own = torch.default_generator.get_state(), random.getstate()
    numpy = sys.modules.get("numpy")
    theirs = numpy.random.get_state() if numpy is not None else None
    refresh_state()
    try:
        yield
    finally:
        _set(grad, dtype, device, deterministic, anomaly, precision, depth)
        torch.default_generator.set_state(state)
        random.setstate(own)
        if numpy is not None:
            numpy.random.set_state(theirs)


def refresh_state() -> None:
    """Set all this as a new interpreter has it."""
    _set(True, torch.float32, torch.device("cpu"), False, False, "highest", max(1000, sys.getrecursionlimit()))
    torch.default_generator.manual_seed(0)
    random.seed(0)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(0)


def _set(
    grad: bool,
    dtype: torch.dtype,
    device: torch.device,
    deterministic: bool,
    anomaly: bool,
    precision: str,
    depth: int,
) -> None:
    """Set each global only if it differs: setting some of them is slow, or loads parts of torch."""
    if torch.is_grad_enabled() != grad:
        torch.set_grad_enabled(grad)
    if torch.get_default_dtype() != dtype:
        torch.set_default_dtype(dtype)
    if torch.get_default_device() != device:
        torch.set_default_device(None if device.type == "cpu" else device)
    if torch.are_deterministic_algorithms_enabled() != deterministic:
        torch.use_deterministic_algorithms(deterministic)
    if torch.is_anomaly_enabled() != anomaly:
        torch.autograd.set_detect_anomaly(anomaly)
    if torch.get_float32_matmul_precision() != precision:
        torch.set_float32_matmul_precision(precision)
    if sys.getrecursionlimit() != depth:
        sys.setrecursionlimit(depth)


class NotATensor(TypeError):
    """The result is of a kind that cannot be compared."""


def plain(value: Any, name: str = "result") -> Tensor:
    """A detached CPU tensor of ours: no subclass, no graph, no shared memory with the student's."""
    if isinstance(value, Tensor):
        if value.numel() * value.element_size() > LARGEST:
            raise NotATensor(f"{name} has {value.numel():,} entries, which is more than any answer here needs.")
        if value.is_meta:  # no numbers there: the shape is what there is to see
            return torch.tensor(value.shape, dtype=torch.int64)
        if value.layout != torch.strided:
            raise NotATensor(f"{name} is not a dense tensor (layout {value.layout}).")
        value = value.detach().as_subclass(Tensor)
        if not value.is_cpu:
            value = value.cpu()
        if value.is_conj() or value.is_neg():  # a view that only says so
            value = value.resolve_conj().resolve_neg()
        copy: Tensor = value.clone(memory_format=torch.contiguous_format)
        return copy
    if isinstance(value, bool):
        return torch.tensor(value)
    if isinstance(value, int):
        return torch.tensor(value, dtype=torch.int64)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, list | tuple) and all(isinstance(item, int) for item in value):
        return torch.tensor(value, dtype=torch.int64)
    if value is None:
        raise NotATensor(f"{name} is None.{A_RETURN_MISSING}")
    raise NotATensor(f"{name} is {value_in_words(value)}.")


# ---- how it ended


def describe_exception(
    error: BaseException, probe: Callable[[Any], Any] | None = None, implementation: Any = None
) -> Raised:
    """Describe an exception with the student's line; if no line of theirs was running, with what their code had
    returned."""
    own = source_file_of(implementation)
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if is_students(f.filename) or (own and f.filename == own)
    ]
    where = returned = ""
    if frames:
        frame = frames[-1]
        whole = linecache.getline(frame.filename, frame.lineno or 0)
        line = short(frame.line or whole, 120, culprit(whole, frame))
        where = f"{place(frame.filename)}line {frame.lineno}" + (f": `{line}`" if line else "")
    elif probe is not None:
        returned = last_return(probe, implementation)
    try:
        message = str(error)
    except Exception:  # an exception class of the student's may fail at this too
        message = ""
    return Raised(type(error).__name__, message[:600], where, returned)


def culprit(line: str, frame: traceback.FrameSummary) -> str:
    """The piece of a line that raised; empty if Python does not know."""
    if frame.colno is None or frame.end_colno is None or frame.lineno != frame.end_lineno:
        return ""
    return line.encode()[frame.colno : frame.end_colno].decode(errors="ignore")


def is_students(filename: str) -> bool:
    """A cell of a notebook or a submitted file, as opposed to a library's or one of ours."""
    return filename.startswith(STUDENTS) or "ipykernel_" in filename


def source_file_of(implementation: Any) -> str:
    """The file in which a function, or the methods of a class, were written; empty if that is not known."""
    functions = (
        [implementation, *vars(implementation).values()] if isinstance(implementation, type) else [implementation]
    )
    codes = (getattr(function, "__code__", None) for function in functions)
    return next((code.co_filename for code in codes if code is not None), "")


def place(filename: str) -> str:
    """The label that a cell was compiled under, as words: `<cell 3 of a.ipynb>` gives `cell 3 of a.ipynb, `."""
    if filename.startswith(("<cell", "<submission")):
        return filename.strip("<>").removeprefix("submission ") + ", "
    return "" if is_students(filename) else os.path.basename(filename) + ", "


def last_return(probe: Callable[[Any], Any], implementation: Any) -> str:
    """The return value of an implementation's last call under a probe, in words; empty if there was no call."""
    last: list[str] = []

    def noted(value: Any) -> Any:
        last[:] = [value_in_words(value)]
        return value

    if isinstance(implementation, type):

        def call(self: Any, *args: Any, **options: Any) -> Any:
            return noted(super(watched, self).__call__(*args, **options))

        watched: Any = type(implementation.__name__, (implementation,), {"__call__": call})
    else:

        def watched(*args: Any, **options: Any) -> Any:
            return noted(implementation(*args, **options))

    with contextlib.suppress(Exception):  # it may fail, as it did before: that is why we ask
        probe(watched)
    return last[0] if last else ""


def value_in_words(value: Any) -> str:
    """`a tensor of shape (2, 3)`, `a tuple of 2 tensors`, `None`."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        kinds = {Tensor if isinstance(item, Tensor) else type(item) for item in value}
        kind = kinds.pop().__name__.lower() if len(kinds) == 1 else "value"
        outer = "list" if isinstance(value, list) else "tuple"
        return f"a{'n empty' if not value else ''} {outer}" + (
            f" of {len(value)} {kind}{'' if len(value) == 1 else 's'}" if value else ""
        )
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"{'an' if kind[:1] in 'aeiou' or kind == 'ndarray' else 'a'} {kind}"
