"""The trusted side of the sandbox: start a zygote, have submissions sit in it, read what comes out.

Guarantees: `sit` returns within its deadline (plus the time of a restart if the zygote died), whatever the submission
does; what arrived before a submission was stopped is kept; a dead zygote is replaced before the next sitting.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch import Tensor

from proctor.forbid import Family
from proctor.observe import Observation, Raised
from proctor.sandbox import protocol
from proctor.sandbox.choice import choose
from proctor.sandbox.launch import Fault, Zygote, launch
from proctor.sandbox.limits import Limits
from proctor.sandbox.protocol import Garbage, TooLarge, clean

SIGNALS = {
    "SIGSEGV": "it read or wrote memory that is not its own",
    "SIGABRT": "it was aborted by a library",
    "SIGBUS": "it read memory that is not there",
    "SIGFPE": "an arithmetic fault",
    "SIGILL": "an invalid instruction",
}


@dataclass(frozen=True)
class Cell:
    """A piece of a submission, and how to speak of it ("cell 3 of a.ipynb", "helpers.py")."""

    label: str
    source: str


@dataclass(frozen=True)
class Stopped:
    """Why a sitting ended early.

    Args:
        reason: time | memory | output | size | result | exit | crash | garbage | sandbox.
        detail: one sentence for an instructor. It may hold hostile text: escape it where it is shown.
        exercise, probe: what was running; empty if the submission was still being loaded.
    """

    reason: str
    detail: str
    exercise: str = ""
    probe: str = ""


@dataclass
class Sitting:
    """What was seen of one submission.

    Args:
        outcomes: exercise -> probe -> what was observed. Probes that were not reached are absent.
        defined: exercises for which the submission defines something that can be called.
        cell_errors: label -> what a cell raised when it was run.
        notes: imports that failed, in words.
        output: the beginning of what was printed.
        stopped: None if the sitting ran to its end.
    """

    outcomes: dict[str, dict[str, Observation]] = field(default_factory=dict)
    defined: tuple[str, ...] = ()
    cell_errors: dict[str, Raised] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    output: str = ""
    stopped: Stopped | None = None
    seconds: float = 0.0


MOST_ERRORS = 40  # cells whose errors are kept
GRACE = 1.0  # seconds in which a process that closed its channel should be gone


class Late(Exception):
    """The deadline passed."""


class Ended(Exception):
    """The other side closed the channel."""


class Sandbox:
    """Where submissions sit. One sitting at a time; use one sandbox per worker.

    Args:
        probes: cloudpickle of {exercise: {probe: function}}, made by the trusted side (`proctor.portable.dumps`).
        draws: exercise -> key -> input tensor, as `Examiner.draws` has them.
        limits: bounds of each sitting.
        tier: "auto", "bubblewrap", "landlock" or "limits".
        trust: allow the tier "limits", which is no sandbox.
        hide: files or directories that must not be readable inside even if they lie beside the interpreter.
    """

    def __init__(
        self,
        probes: bytes,
        draws: Mapping[str, Mapping[str, Tensor]] | None = None,
        limits: Limits | None = None,
        tier: str = "auto",
        trust: bool = False,
        hide: Sequence[str | Path] = (),
    ) -> None:
        self.limits = limits or Limits()
        self.tier = choose(tier, trust)
        self._probes, self._draws, self._hide = probes, pack_draws(draws or {}), hide
        self._zygote: Zygote | None = None
        self._busy = False  # a child may still be alive; its status has not come

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the zygote now instead of at the first sitting."""
        self._ready()

    def close(self) -> None:
        """End the zygote and everything in it."""
        zygote, self._zygote, self._busy = self._zygote, None, False
        if zygote is not None:
            zygote.end()

    @property
    def pid(self) -> int | None:
        """The process that was started for the sandbox, if one is running."""
        return None if self._zygote is None else self._zygote.process.pid

    def sit(
        self,
        code: Sequence[Cell],
        modules: Mapping[str, str] | None = None,
        stand_ins: Mapping[str, str] | None = None,
        exercises: Mapping[str, Sequence[str]] | None = None,
        forbid: Mapping[str, Sequence[Family]] | None = None,
        seconds: float | None = None,
    ) -> Sitting:
        """Run one submission and observe it.

        Args:
            code: the student's definitions, in order.
            modules: full name -> source of what can be imported inside.
            stand_ins: name -> module it is taken from, set in the namespace after the student's cells ran.
            exercises: exercise -> probes to run, in order.
            forbid: exercise -> what may not be called.
            seconds: wall clock for this sitting, if not that of the limits; no more than theirs.

        Raises:
            Fault: the sandbox itself does not work; nothing is known about the submission.
        """
        asked = {name: list(probes) for name, probes in (exercises or {}).items()}
        job = protocol.to_json(
            {
                "cells": [[cell.label, cell.source] for cell in code],
                "modules": dict(modules or {}),
                "stand_ins": dict(stand_ins or {}),
                "exercises": asked,
                "forbid": {
                    name: [[family.title, sorted(family.operators)] for family in families]
                    for name, families in (forbid or {}).items()
                },
            }
        )
        begun = time.monotonic()
        if len(job) > self.limits.code_bytes:
            detail = f"The code has {len(job):,} bytes; at most {self.limits.code_bytes:,} are run."
            return Sitting(stopped=Stopped("size", detail))
        for attempt in (1, 2):
            sitting = Sitting()
            try:
                self._sit(job, asked, sitting, min(seconds or self.limits.seconds, self.limits.seconds))
                break
            except _ZygoteGone:
                # not seen to be this submission's doing: it gets a second sandbox, and an answer either way
                self.close()
                detail = "The sandbox itself was ended while this code ran, twice."
                sitting.stopped = Stopped("sandbox", detail) if attempt == 2 else None
        sitting.seconds = time.monotonic() - begun
        return sitting

    def _ready(self) -> Zygote:
        """A live zygote without a child."""
        if self._zygote is not None and self._busy:
            try:
                self._status()
            except _ZygoteGone:
                self.close()
        if self._zygote is not None and self._zygote.gone():
            self.close()
        if self._zygote is None:
            self._zygote = launch(self.tier, self._probes, self._draws, self.limits, self._hide)
        return self._zygote

    def _sit(self, job: bytes, asked: Mapping[str, Sequence[str]], sitting: Sitting, seconds: float) -> None:
        zygote = self._ready()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                try:
                    socket.send_fds(zygote.control, [protocol.SIT], [theirs.fileno()])
                except OSError:
                    raise _ZygoteGone from None
            self._busy = True
            reader = Reader(ours, time.monotonic() + seconds, self.limits)
            try:
                reader.send(protocol.frame(protocol.JOB, job))
                self._read(reader, asked, sitting)
            except Late:
                detail = f"The code was still running after {seconds:g} s."
                sitting.stopped = Stopped("time", detail, *reader.running)
            except TooLarge as error:
                sitting.stopped = Stopped("result", f"The code sent back too much: {error}.", *reader.running)
            except Garbage as error:
                detail = f"What came back was not an answer of the test harness ({error})."
                sitting.stopped = Stopped("garbage", detail, *reader.running)
            except Ended:
                if zygote.has_spoken(min(GRACE, seconds)):
                    sitting.stopped = self._why(*self._status(), reader.running)
                else:
                    detail = "The code cut its connection to the test harness and went on running."
                    sitting.stopped = Stopped("garbage", detail, *reader.running)
            finally:
                self._end_child()

    def _read(self, reader: Reader, asked: Mapping[str, Sequence[str]], sitting: Sitting) -> None:
        """Take frames until the last."""
        kind, payload = next(reader.frames())
        if kind == protocol.FAULT:  # sent before student code exists, so it is true
            raise Fault(f"a sitting could not be confined: {payload.decode('utf-8', 'replace')[:500]}")
        if kind != protocol.READY:
            raise Garbage("no greeting")
        for kind, payload in reader.frames():
            if kind == protocol.DEFINED:
                _take_definitions(protocol.from_json(payload), asked, sitting)
            elif kind == protocol.BEGIN:
                reader.running = _whose(protocol.from_json(payload), asked)
            elif kind == protocol.OBSERVED:
                _take_observation(payload, asked, sitting)
                reader.running = ("", "")
            elif kind == protocol.OUTPUT:
                sitting.output = clean(protocol.from_json(payload).get("text"), self.limits.kept_output)
            elif kind == protocol.STOP:
                sitting.stopped = self._said(protocol.from_json(payload), reader.running)
                return
            elif kind == protocol.END:
                return
            else:
                raise Garbage("unknown kind of frame")

    def _said(self, report: Mapping[str, Any], running: tuple[str, str]) -> Stopped:
        if report.get("reason") == "output":
            return Stopped("output", f"The code printed more than {self.limits.output_bytes:,} characters.", *running)
        detail = clean(report.get("detail", ""), 500)
        return Stopped("crash", f"The code broke the test harness that ran it ({detail}).", *running)

    def _why(self, status: int, peak_kb: int, running: tuple[str, str]) -> Stopped:
        """How a child that sent no last frame came to its end."""
        if os.WIFEXITED(status):
            detail = (
                f"The code ended its own process (exit status {os.WEXITSTATUS(status)}) before its answer was complete."
            )
            return Stopped("exit", detail, *running)
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return Stopped("time", f"The code used more than {self.limits.cpu_seconds} s of processor time.", *running)
        zygote_kb = self._zygote.peak_kb if self._zygote is not None else 0
        if number == signal.SIGKILL or peak_kb - zygote_kb > 0.7 * 1024 * self.limits.memory_mb:
            return Stopped("memory", f"The code needed more than the allowed {self.limits.memory_mb} MB.", *running)
        name = _signal_name(number)
        what = f": {SIGNALS[name]}" if name in SIGNALS else ""
        return Stopped("crash", f"The code crashed its process ({name}{what}).", *running)

    def _end_child(self) -> None:
        """Order the child's end, whatever it is doing. If it ended by itself, the order is ignored."""
        try:
            if self._zygote is not None:
                self._zygote.control.send(protocol.END_IT)
        except OSError:
            pass  # found out when its status is asked for

    def _status(self) -> tuple[int, int]:
        """How the last child ended. Waits for it; the zygote was told to end it, so this is short."""
        assert self._zygote is not None
        data = self._zygote.receive(protocol.STATUS.size, seconds=30)
        if data is None:
            raise _ZygoteGone
        self._busy = False
        status, peak = protocol.STATUS.unpack(data)
        return status, peak


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _ZygoteGone(Exception):
    """The zygote died; nothing is known about the sitting."""


class Reader:
    """Frames from one sitting, under one total deadline and one total size."""

    def __init__(self, channel: socket.socket, deadline: float, limits: Limits) -> None:
        self.channel, self.deadline = channel, deadline
        self.most, self.left = limits.frame_bytes, limits.result_bytes
        self.frames_left = 20_000
        self.running = ("", "")
        channel.setblocking(False)
        self._poll = select.poll()

    def _wait(self, event: int) -> None:
        left = self.deadline - time.monotonic()
        self._poll.register(self.channel, event)
        if left <= 0 or not self._poll.poll(left * 1000):
            raise Late

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._wait(select.POLLOUT)
            try:
                view = view[self.channel.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Ended from None

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                part = self.channel.recv(min(count - len(data), 1 << 20))
            except BlockingIOError:
                self._wait(select.POLLIN)
                continue
            except OSError:
                raise Ended from None
            if not part:
                raise Ended
            data += part
            if time.monotonic() > self.deadline:
                raise Late
        return bytes(data)

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            kind, length = protocol.HEAD.unpack(self._exactly(protocol.HEAD.size))
            self.left -= length
            self.frames_left -= 1
            most = self.most if kind == protocol.OBSERVED else protocol.MAX_TEXT
            if length > most or self.left < 0 or self.frames_left < 0:
                raise TooLarge(f"a result may have {self.most:,} bytes")
            yield kind, self._exactly(length)


def _whose(note: Any, asked: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The exercise and probe that a frame is about; they must be among those asked for."""
    if not isinstance(note, dict):
        raise Garbage("not about a probe")
    exercise, probe = note.get("exercise"), note.get("probe")
    if not isinstance(exercise, str) or exercise not in asked or probe not in asked[exercise]:
        raise Garbage("about a probe that was not asked for")
    return exercise, str(probe)


def _raised(parts: object) -> Raised:
    if not isinstance(parts, list) or len(parts) != 3:
        raise Garbage("an error has three parts")
    return Raised(clean(parts[0], 100), clean(parts[1], 2000), clean(parts[2], 500))


def _texts(values: object, count: int, length: int) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > count:
        raise Garbage("a short list of texts expected")
    return tuple(clean(value, length) for value in values)


def _take_definitions(report: Mapping[str, Any], asked: Mapping[str, Sequence[str]], sitting: Sitting) -> None:
    errors = report.get("errors")
    if sitting.defined or not isinstance(errors, dict):
        raise Garbage("a second list of definitions, or none")
    sitting.defined = tuple(name for name in _texts(report.get("defined"), len(asked), 200) if name in asked)
    sitting.cell_errors = {clean(label, 300): _raised(parts) for label, parts in list(errors.items())[:MOST_ERRORS]}
    sitting.notes = _texts(report.get("notes"), 20, 500)


def _take_observation(payload: bytes, asked: Mapping[str, Sequence[str]], sitting: Sitting) -> None:
    tensors, note = protocol.decode(payload)
    exercise, probe = _whose(note, asked)
    if probe in sitting.outcomes.get(exercise, {}):
        raise Garbage("a second answer to the same probe")
    raised = None if note.get("raised") is None else _raised(note["raised"])
    values = tensors if note.get("values") is True and raised is None else None
    if values is None and raised is None:
        raise Garbage("neither values nor an error")
    seen = Observation(values, raised, _texts(note.get("called"), 20, 200))
    sitting.outcomes.setdefault(exercise, {})[probe] = seen


def pack_draws(draws: Mapping[str, Mapping[str, Tensor]]) -> bytes:
    """All inputs of all exercises as bytes."""
    flat = [(exercise, key, tensor) for exercise, table in draws.items() for key, tensor in table.items()]
    names = {str(i): [exercise, key] for i, (exercise, key, _) in enumerate(flat)}
    return protocol.encode({str(i): tensor for i, (_, _, tensor) in enumerate(flat)}, names)
