"""One sitting, inside: the student's cells in a namespace of their own, then every probe of every exercise.

Runs in the forked child, next to student code, so nothing here is a guarantee: student code can change all of it. It
cannot gain by that. What leaves is values, and the trusted process compares them with its own.

Guarantees to the honest student: cells run in order in one namespace, a failing cell spoils only itself, a probe that
raises leaves the others alone, prints and warnings cost nothing, a missing package costs only what uses it.
"""

from __future__ import annotations

import builtins
import importlib
import io
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from types import ModuleType
from typing import Any, NoReturn

import numpy
import torch

from proctor.forbid import Family
from proctor.inputs import Replay, drawing
from proctor.observe import Observation, Raised, describe, observe
from proctor.sandbox import protocol
from proctor.sandbox.cells import run_cells
from proctor.sandbox.importing import Sources
from proctor.sandbox.inert import Inert, InertModules, Missing
from proctor.sandbox.kernels import Blocker
from proctor.sandbox.output import Output

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

    def close(self) -> None:
        """Hang up, which the other side is waiting for; the end of the process would come later."""
        os.close(self.descriptor)

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


def _no_input(prompt: object = "") -> NoReturn:
    raise EOFError("nobody is there to answer input()")


def seed() -> None:
    """Begin the sequences of unseeded draws anew. The zygote has done it for the first sitting."""
    numpy.random.seed(0)
    torch.default_generator.manual_seed(0)


def _room(descriptor_output: Output, modules: Mapping[str, str]) -> ModuleType:
    """The namespace of the submission and everything that it may expect around it; nothing of an earlier sitting."""
    random.seed(0)  # unseeded draws are the same in every run; Python shuffles this one at every fork
    earlier = [finder for finder in sys.meta_path if isinstance(finder, Sources | InertModules)]
    if earlier:
        seed()
    for finder in earlier:
        sys.meta_path.remove(finder)
        for name in (*finder.sources, *finder.packages) if isinstance(finder, Sources) else ():
            sys.modules.pop(name, None)
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


def _in_words(seen: Observation, called: tuple[str, ...], memory_mb: int) -> Observation:
    """With what was called, and "memory" where torch says it in its own way."""
    error = seen.raised
    if error is not None and (error.kind == "MemoryError" or any(sign in error.message for sign in OUT_OF_MEMORY)):
        error = Raised("MemoryError", f"more than the allowed {memory_mb} MB", error.where)
    return Observation(seen.values, error, called) if error or called else seen


def look(probe: Callable[..., Any], implementation: Any) -> Observation:
    """One probe on one implementation; whatever it raises, the next probe gets its turn."""
    try:
        return observe(probe, implementation)
    except BaseException as error:  # KeyboardInterrupt, which `observe` lets through for people at a keyboard
        return Observation(None, describe(error))


def report(names: Mapping[str, Any], exercises: Iterable[str], errors: Mapping[str, Raised], notes: list[str]) -> Any:
    """What came of the cells: which exercises can be called now, which cells failed, which imports."""
    return {
        "defined": [n for n in exercises if callable(names.get(n)) and not isinstance(names[n], Missing)],
        "errors": {label: [e.kind[:100], e.message[:600], e.where[:500]] for label, e in list(errors.items())[:40]},
        "notes": [note[:500] for note in notes[:20]],
    }


def sit(
    channel: Channel,
    blocker: Blocker,
    probes: Mapping[str, Mapping[str, Callable[..., Any]]],
    draws: Mapping[str, Mapping[str, torch.Tensor]],
    limits: Mapping[str, Any],
) -> None:
    """Receive a job, run it, send what was seen."""

    def flood() -> NoReturn:
        channel.send(protocol.STOP, protocol.to_json({"reason": "output"}))
        os._exit(0)

    job = channel.job()
    began = time.process_time()
    forbid = {name: tuple(Family.of(title, *ops) for title, ops in many) for name, many in job["forbid"].items()}
    blocker.guard(family for families in forbid.values() for family in families)
    output = Output(limits["kept_output"], limits["output_bytes"], flood)
    names = _room(output, job["modules"]).__dict__
    errors, notes = run_cells(job["cells"], names)
    found = report(names, job["exercises"], errors, notes)
    channel.hold(protocol.DEFINED, protocol.to_json(found))
    implementations = {name: names[name] for name in found["defined"]}
    for name, module in job["stand_ins"].items():
        names[name] = getattr(importlib.import_module(module), name)
    for families, neighbours in groupby(implementations, lambda exercise: forbid.get(exercise, ())):
        with blocker.without(families):
            for exercise in neighbours:
                with drawing(Replay(draws.get(exercise, {}))):
                    for probe in job["exercises"][exercise]:
                        channel.send(protocol.BEGIN, protocol.pair(exercise, probe))
                        seen = look(probes[exercise][probe], implementations[exercise])
                        seen = _in_words(seen, blocker.taken(), limits["memory_mb"])
                        channel.hold(protocol.OBSERVED, pack(seen, limits["frame_bytes"]))
    used = time.process_time() - began
    channel.hold(protocol.OUTPUT, protocol.to_json({"text": output.text(), "count": output.count, "seconds": used}))
    channel.send(protocol.END)


def pack(seen: Observation, most: int) -> bytes:
    """An observation as bytes. One that cannot be packed, or is too large, becomes what was wrong with it."""
    try:
        data = _bytes(seen)
        if len(data) <= most:
            return data
        problem = Raised("ValueError", f"the result has {len(data):,} bytes; at most {most:,} are read")
    except TypeError as error:
        problem = Raised("TypeError", str(error))
    return _bytes(Observation(None, problem, seen.called))


def _bytes(seen: Observation) -> bytes:
    if seen.values is not None and not seen.called:
        return protocol.encode(seen.values)
    error = seen.raised
    note = {
        "raised": None if error is None else [error.kind[:100], error.message[:2000], error.where[:500]],
        "called": [str(name)[:200] for name in seen.called[:20]],
    }
    return protocol.encode(seen.values or {}, note)
