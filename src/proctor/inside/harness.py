"""One run, inside: take a job from the channel, run it (`proctor.inside.running`), send what was seen.

Runs in the forked child, next to student code, so nothing here is a guarantee: student code can change all of it. It
cannot gain by that. What leaves is values, and the trusted process compares them with its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from proctor.forbid import Family
from proctor.forbid.replace import Blocker
from proctor.inside import frames, protocol
from proctor.inside.observe import Observation, Raised
from proctor.inside.running import (
    Cell,
    Draws,
    Job,
    LoadedCells,
    Output,
    Probes,
    Version,
    out_of_memory,
    run_job,
    submission_namespace,
)
from proctor.inside.warmup.stub_compiler import bring_back


class Channel:
    """The way out: whole frames on one socket."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.held = b""

    def hold(self, kind: bytes, payload: bytes = b"") -> None:
        """Send this with the next frame: each write wakes the other side."""
        self.held += frames.frame(kind, payload)

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        # write() and read(), since the system calls of sockets are refused once student code may run
        data, self.held = memoryview(self.held + frames.frame(kind, payload)), b""
        while data:
            data = data[os.write(self.descriptor, data) :]

    def close(self) -> None:
        """Hang up, which the other side is waiting for; the end of the process would come later."""
        os.close(self.descriptor)

    def job(self) -> tuple[Job, Draws | None]:
        """Receive the job, and its inputs where they are not the sandbox's own."""
        kind, length = frames.HEAD.unpack(self._exactly(frames.HEAD.size))
        if kind != frames.JOB:
            raise RuntimeError(f"expected a job, got {kind!r}")
        return unpack_job(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self.descriptor, min(count, 1 << 20))
            if not part:
                os._exit(0)  # the other side is gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def pack_job(job: Job, draws: Draws | None = None) -> bytes:
    """A job as bytes, and inputs if they are others than those of the sandbox."""
    tensors, names = protocol.flat(draws or {})
    note = {
        "cells": [[cell.label, cell.source] for cell in job.cells],
        "modules": dict(job.modules),
        "inert": list(job.inert),
        "stand_ins": dict(job.stand_ins),
        "exercises": {name: list(probes) for name, probes in job.exercises.items()},
        "forbid": {name: [family.to_json() for family in families] for name, families in job.forbid.items()},
        "versions": {name: [v.exercise, dict(v.cells), v.watched, v.put] for name, v in job.versions.items()},
        "draws": None if draws is None else names,
    }
    return protocol.encode(tensors, note)


def unpack_job(data: bytes) -> tuple[Job, Draws | None]:
    """The job and inputs packed by `pack_job`."""
    tensors, note = protocol.decode(data, max_header=1 << 30, max_tensors=1 << 30)
    job = Job(
        cells=[Cell(label, source) for label, source in note["cells"]],
        exercises=note["exercises"],
        forbid={name: [Family.from_json(parts) for parts in many] for name, many in note["forbid"].items()},
        modules=note["modules"],
        inert=note["inert"],
        stand_ins=note["stand_ins"],
        versions={name: Version(*parts) for name, parts in note["versions"].items()},
    )
    return job, None if note["draws"] is None else protocol.nested(tensors, note["draws"])


def run_one_job(channel: Channel, blocker: Blocker, probes: Probes, draws: Draws, limits: Mapping[str, Any]) -> None:
    """Receive a job, run it, and send the observations."""

    def on_limit() -> NoReturn:
        channel.send(frames.STOP, frames.to_json({"reason": "output"}))
        os._exit(0)

    def loaded(found: LoadedCells) -> None:
        channel.hold(frames.DEFINED, frames.to_json(cells_report(found)))

    def begin(exercise: str, probe: str) -> None:
        channel.send(frames.BEGIN, frames.pair(exercise, probe))

    def observed(seen: Observation) -> None:
        channel.hold(frames.OBSERVED, pack(out_of_memory(seen, limits["memory_mb"]), limits["frame_bytes"]))

    job, others = channel.job()
    bring_back([*(cell.source for cell in job.cells), *job.modules.values()])
    began = time.process_time()
    output = Output(limits["kept_output"], limits["output_bytes"], on_limit)
    with submission_namespace(output, job.modules, job.inert) as names:
        run_job(job, probes, draws if others is None else others, blocker, names, loaded, begin, observed)
    used = time.process_time() - began
    channel.hold(frames.OUTPUT, frames.to_json({"text": output.text(), "count": output.count, "seconds": used}))
    channel.send(frames.END)


def cells_report(found: LoadedCells) -> dict[str, Any]:
    """The outcome of running the cells, as JSON data."""
    return {
        "defined": found.defined,
        "errors": {label: exception_parts(error) for label, error in list(found.errors.items())[:40]},
        "notes": [note[:500] for note in found.notes[:20]],
        "called": list(found.called[:20]),
    }


def exception_parts(error: Raised) -> list[str]:
    return [error.kind[:100], error.message[:2000], error.where[:500], error.returned[:200]]


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
    if seen.values is not None and not seen.called and not seen.deprecated:
        return protocol.encode(seen.values)
    note = {
        "raised": None if seen.raised is None else exception_parts(seen.raised),
        "called": [str(name)[:200] for name in seen.called[:20]],
        "deprecated": [str(text)[:300] for text in seen.deprecated[:3]],
    }
    return protocol.encode(seen.values or {}, note)
