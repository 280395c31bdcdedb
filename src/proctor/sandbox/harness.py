"""One sitting, inside: the student's cells in one namespace, then every probe of every exercise.

Runs in the forked child, next to student code, so nothing here is a guarantee: student code can change all of it. It
cannot gain by that. What leaves is values, and the trusted process compares them with its own.

Guarantees to the honest student: cells run in order in one namespace, a failing cell spoils only itself, a probe that
raises leaves the others alone, prints and warnings cost nothing, a missing package costs only what uses it.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import io
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import torch

from proctor.forbid import SOFTMAX, Family
from proctor.inputs import Replay, drawing
from proctor.observe import Observation, Raised, describe, observe
from proctor.sandbox import protocol
from proctor.sandbox.importing import Sources
from proctor.sandbox.inert import Inert, InertModules, Missing
from proctor.sandbox.kernels import Blocker

NAMESPACE = "submission"  # not "__main__": what a script does when it is run is not part of what it defines
OUT_OF_MEMORY = ("can't allocate memory", "std::bad_alloc", "not enough memory")

COURSE = """
import torch as _torch

def check(*args, **options): ...
def hint(*args, **options): ...
def status(*args, **options): ...
def device(*args, **options): return _torch.device("cpu")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    import importlib
    try:
        return importlib.import_module("qkv." + name)
    except ImportError:
        raise AttributeError(name) from None
"""


class Channel:
    """The way out: whole frames on one socket."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

        self.held = b""

    def hold(self, kind: bytes, payload: bytes = b"") -> None:
        """Send this with the next frame: each write wakes the other side."""
        self.held += protocol.frame(kind, payload)

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        # write() and read(), since the system calls of sockets are refused once student code may run
        data, self.held = memoryview(self.held + protocol.frame(kind, payload)), b""
        while data:
            data = data[os.write(self.descriptor, data) :]

    def job(self) -> dict[str, Any]:
        kind, length = protocol.HEAD.unpack(self._exactly(protocol.HEAD.size))
        if kind != protocol.JOB:
            raise RuntimeError(f"expected a job, got {kind!r}")
        return protocol.from_json(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self.descriptor, min(count, 1 << 20))
            if not part:
                os._exit(0)  # nobody wants an answer any more
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class Output(io.TextIOBase):
    """Takes what is printed: keeps the beginning, forgets the rest, stops a flood."""

    def __init__(self, kept: int, limit: int, flood: Callable[[], NoReturn]) -> None:
        self.kept, self.limit, self.flood = kept, limit, flood
        self.count = 0
        self.parts: list[str] = []

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.count < self.kept:
            self.parts.append(text[: self.kept - self.count])
        self.count += len(text)
        if self.count > self.limit:
            self.flood()
        return len(text)

    @property
    def buffer(self) -> _Bytes:
        return _Bytes(self)

    def text(self) -> str:
        return "".join(self.parts)


class _Bytes(io.RawIOBase):
    """sys.stdout.buffer, counted with the rest."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raw = bytes(data)
        self.output.write(raw.decode("utf-8", "replace"))
        return len(raw)


def _import_one(node: ast.Import | ast.ImportFrom, run: Callable[[list[ast.stmt]], None], names: dict[str, Any]) -> str:
    """Run one import statement; if the module is not there, bind its names to `Missing`. Returns what was missing."""
    try:
        run([node])
        return ""
    except ImportError as error:
        package = (error.name or getattr(node, "module", None) or node.names[0].name).partition(".")[0]
        for alias in node.names:
            if alias.name != "*":
                bound = alias.asname or (
                    alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
                )
                names.setdefault(bound, Missing(package))
        return f"{ast.unparse(node)}: {error}"


def file_of(label: str) -> str:
    """The file name that a cell is compiled under; `proctor.observe` knows student code by it."""
    return f"<{label}>" if label.startswith("cell") else f"<submission {label}>"


def run_cell(label: str, source: str, names: dict[str, Any], flags: int) -> tuple[list[str], int]:
    """Run one cell. Imports at its top level that fail are noted instead of raised.

    Args:
        flags: compiler flags of `from __future__` imports in earlier cells, which a notebook keeps on.

    Returns:
        notes on failed imports, and the flags for the next cell.
    """
    file = file_of(label)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    notes: list[str] = []
    pending: list[ast.stmt] = []

    def run(statements: list[ast.stmt]) -> None:
        if statements:
            module = ast.Module(body=list(statements), type_ignores=[])
            exec(compile(module, file, "exec", flags, dont_inherit=True), names)

    import __future__

    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            run(pending)
            pending = []
            if note := _import_one(node, run, names):
                notes.append(note)
        else:
            pending.append(node)
    run(pending)
    return notes, flags


def run_cells(cells: Iterable[tuple[str, str]], names: dict[str, Any]) -> tuple[dict[str, Raised], list[str]]:
    """Run all cells; returns the errors by label, and notes."""
    errors: dict[str, Raised] = {}
    notes: list[str] = []
    flags = 0
    for label, source in cells:
        try:
            more, flags = run_cell(label, source, names, flags)
            notes += more
        except BaseException as error:  # also sys.exit() in a cell
            errors[label] = describe(error)
    return errors, notes


def _no_input(prompt: object = "") -> NoReturn:
    raise EOFError("nobody is there to answer input()")


def _room(descriptor_output: Output, modules: Mapping[str, str]) -> ModuleType:
    """The namespace of the submission and everything that it may expect around it."""
    sys.stdin = io.StringIO()
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = descriptor_output  # type: ignore[assignment,misc]
    builtins.input = _no_input
    builtins.display = lambda *args, **options: None  # type: ignore[attr-defined]
    builtins.get_ipython = lambda: Inert("IPython")  # type: ignore[attr-defined]
    InertModules([*InertModules().names, "qkv.figures", "qkv.tasks"]).install()
    Sources({"qkv": COURSE, "qkv.model": "", **modules}).install()
    room = ModuleType(NAMESPACE)
    sys.modules[NAMESPACE] = sys.modules["__main__"] = room
    sys.argv = [NAMESPACE]
    return room


def _in_words(observation: Observation, memory_mb: int) -> Observation:
    """Say "memory" where torch says it in its own way."""
    error = observation.raised
    if error is not None and (error.kind == "MemoryError" or any(sign in error.message for sign in OUT_OF_MEMORY)):
        return Observation(
            None, Raised("MemoryError", f"more than the allowed {memory_mb} MB", error.where), observation.called
        )
    return observation


def look(probe: Callable[..., Any], implementation: Any, draws: Mapping[str, torch.Tensor]) -> Observation:
    """One probe on one implementation; whatever it raises, the next probe gets its turn."""
    try:
        with drawing(Replay(draws)):
            return observe(probe, implementation)
    except BaseException as error:  # KeyboardInterrupt, which `observe` lets through for people at a keyboard
        return Observation(None, describe(error))


class Echo(torch.nn.Module):
    """Stands in for an answer while the zygote rehearses: gives back its first argument, called or built and called."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 3)

    def forward(self, *args: Any, **options: Any) -> Any:
        return args[0] * 1.0


def echo(*args: Any, **options: Any) -> Any:
    return args[0] * 1.0


REHEARSED = '''
import torch
import torch.nn.functional as F
from torch import Tensor, nn

def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Words."""
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)

class Attention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = softmax(x @ x.transpose(-2, -1) / x.shape[-1] ** 0.5)
        return self.proj(weights @ x), weights

x = torch.ones(2, 3, 4, requires_grad=True)
Attention(4)(x)[0].sum().backward()
Attention(4).double()(x.detach().double())
'''


def rehearse(
    probes: Mapping[str, Mapping[str, Callable[..., Any]]], draws: Mapping[str, Mapping[str, torch.Tensor]]
) -> None:
    """Run all probes once without an answer, and a cell without a student.

    What is used for the first time is slow, and every child would do it again: it is done once, before the fork.
    """
    blocker = Blocker()
    for exercise, functions in probes.items():
        with blocker.without([SOFTMAX]):
            for name, probe in functions.items():
                for implementation in (echo, Echo):
                    pack(exercise, name, look(probe, implementation, draws.get(exercise, {})), protocol.MAX_HEADER)
    run_cells([("cell 0", REHEARSED)], {"__name__": NAMESPACE})
    protocol.from_json(protocol.to_json({"cells": [["cell 0", REHEARSED]], "exercises": {}}))


def report(names: Mapping[str, Any], exercises: Iterable[str], errors: Mapping[str, Raised], notes: list[str]) -> Any:
    """What came of the cells: which exercises can be called now, which cells failed, which imports."""
    return {
        "defined": [n for n in exercises if callable(names.get(n)) and not isinstance(names[n], Missing)],
        "errors": {label: [e.kind[:100], e.message[:600], e.where[:500]] for label, e in list(errors.items())[:40]},
        "notes": [note[:500] for note in notes[:20]],
    }


def sit(
    channel: Channel,
    probes: Mapping[str, Mapping[str, Callable[..., Any]]],
    draws: Mapping[str, Mapping[str, torch.Tensor]],
    limits: Mapping[str, Any],
) -> None:
    """Receive a job, run it, send what was seen."""

    def flood() -> NoReturn:
        channel.send(protocol.STOP, protocol.to_json({"reason": "output"}))
        os._exit(0)

    job = channel.job()
    forbid = {name: tuple(Family.of(title, *ops) for title, ops in many) for name, many in job["forbid"].items()}
    blocker = Blocker([family for families in forbid.values() for family in families])
    output = Output(limits["kept_output"], limits["output_bytes"], flood)
    names = _room(output, job["modules"]).__dict__
    errors, notes = run_cells(job["cells"], names)
    found = report(names, job["exercises"], errors, notes)
    channel.hold(protocol.DEFINED, protocol.to_json(found))
    implementations = {name: names[name] for name in found["defined"]}
    for name, module in job["stand_ins"].items():
        names[name] = getattr(importlib.import_module(module), name)
    for exercise, implementation in implementations.items():
        with blocker.without(forbid.get(exercise, ())):
            for probe in job["exercises"][exercise]:
                channel.send(protocol.BEGIN, protocol.to_json({"exercise": exercise, "probe": probe}))
                seen = look(probes[exercise][probe], implementation, draws.get(exercise, {}))
                seen = _in_words(Observation(seen.values, seen.raised, blocker.taken()), limits["memory_mb"])
                channel.hold(protocol.OBSERVED, pack(exercise, probe, seen, limits["frame_bytes"]))
    channel.hold(protocol.OUTPUT, protocol.to_json({"text": output.text(), "count": output.count}))
    channel.send(protocol.END)


def pack(exercise: str, probe: str, seen: Observation, most: int) -> bytes:
    """An observation as bytes. One that cannot be packed, or is too large, becomes what was wrong with it."""
    try:
        data = _bytes(exercise, probe, seen)
        if len(data) <= most:
            return data
        problem = Raised("ValueError", f"the result has {len(data):,} bytes; at most {most:,} are read")
    except TypeError as error:
        problem = Raised("TypeError", str(error))
    return _bytes(exercise, probe, Observation(None, problem, seen.called))


def _bytes(exercise: str, probe: str, seen: Observation) -> bytes:
    error = seen.raised
    note = {
        "exercise": exercise,
        "probe": probe,
        "values": seen.values is not None,
        "raised": None if error is None else [error.kind[:100], error.message[:2000], error.where[:500]],
        "called": [str(name)[:200] for name in seen.called[:20]],
    }
    return protocol.encode(seen.values or {}, note)
