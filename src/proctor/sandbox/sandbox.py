"""The trusted side of the sandbox: start a zygote, run submissions in it, read what comes out.

Guarantees: `run` returns within its time by the clock (plus that of a restart if the zygote died), whatever the
submission does; what arrived before a submission was stopped is returned; a dead zygote is replaced before the next
one.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch import Tensor

from proctor.forbid import Family
from proctor.inside import frames, protocol, warmup
from proctor.inside.frames import Garbage, TooLarge, clean
from proctor.inside.harness import pack_job
from proctor.inside.rlimits import WAITS, Limits
from proctor.inside.running import Draws, Job
from proctor.sandbox import visible_files
from proctor.sandbox.launch import Fault, Payload, SandboxConfig, Zygote, launch
from proctor.sandbox.reader import Ended, Late, Reader
from proctor.sandbox.run import Run, Stopped, parse_begin, store_definitions, store_observation
from proctor.sandbox.tiers import choose

GRACE = 3.0  # seconds in which a process that closed its channel should be gone, on a busy machine too
REUSE_SHARE = 0.1  # of the time limit: a process that took longer has too little processor time left for another run

Asked = Mapping[str, Sequence[str]]  # exercise -> probes

SIGNALS = {
    "SIGSEGV": "it read or wrote memory that is not its own",
    "SIGABRT": "it was aborted by a library",
    "SIGBUS": "it read memory that is not there",
    "SIGFPE": "an arithmetic fault",
    "SIGILL": "an invalid instruction",
}


@dataclass
class Child:
    """A process in the sandbox, which can serve several runs.

    Args:
        channels: one socket per run; a child can serve up to `frames.TIMES` runs.
        session: the session that may reuse this process; None if none may.
        saw_reference: one of its runs held parts of the reference.
        seconds: processor time of its runs so far.
        ready: its READY frame has come: it is confined.
    """

    channels: list[socket.socket]
    session: SandboxSession | None = None
    saw_reference: bool = False
    seconds: float = 0.0
    ready: bool = False

    def close_channels(self) -> None:
        for channel in self.channels:
            channel.close()


@dataclass(frozen=True)
class RunRequest:
    """The request for one run; see `Sandbox.run` for the fields."""

    job: bytes  # packed by `harness.pack_job`
    asked: Asked  # exercise -> probes
    seconds: float  # limit of processor time
    holds_reference: bool  # see `Job.holds_reference`


class SandboxSession:
    """The runs of one submission. They may share a process, in which the next run takes a third of the time.

    A run that earns points never reuses a process in which a run held parts of the reference. A run on other inputs
    earns none: it only confirms a diagnosis.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._sandbox.end_child()

    def run(self, job: Job, draws: Draws | None = None) -> Run:
        """Run a job; see `Sandbox.run`. Edited answers get a process of their own."""
        return self._sandbox.run(job, draws, session=None if job.versions else self)


class Sandbox:
    """A sandbox that runs submissions, one at a time; use one sandbox per worker.

    Args:
        probes: cloudpickle of {exercise: {probe: function}}, made by the trusted side (`probe_pickle.dumps`).
        draws: exercise -> key -> input tensor, as `Examiner.draws` has them.
        limits: bounds of each run.
        tier: "auto", "bubblewrap", "landlock" or "limits".
        trust: allow the tier "limits", which is no sandbox.
        public_modules: full name -> source of modules without a secret that many submissions import; compiled once.
        hide: files or directories that must not be readable inside even if they lie beside the interpreter.
        packages: installed packages that must not be readable inside: the course.
        forbid: exercise -> forbidden families, so that all of them are looked up beforehand.
        rehearsal: code such as students write, run once before any submission.
        warm: optimisations that are on (`proctor.inside.warmup`); by default those that the environment names.
    """

    def __init__(
        self,
        probes: bytes,
        draws: Mapping[str, Mapping[str, Tensor]] | None = None,
        limits: Limits | None = None,
        tier: str = "auto",
        trust: bool = False,
        public_modules: Mapping[str, str] | None = None,
        hide: Sequence[str | Path] = (),
        packages: Iterable[str] = (),
        forbid: Mapping[str, Sequence[Family]] | None = None,
        rehearsal: str = "",
        warm: frozenset[str] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.tier = choose(tier, trust)
        self._payload = Payload(
            probes,
            protocol.encode(*protocol.flat(draws or {})),
            public_modules or {},
            forbid or {},
            rehearsal,
        )
        seen = visible_files.current(hide, packages)
        self._config = SandboxConfig(self.tier, seen, self.limits, warmup.chosen() if warm is None else warm)
        self._zygote: Zygote | None = None
        self._busy = False  # a child may still be alive; its status has not come
        self._used = 0.0  # processor time of the last child whose status came
        self._child: Child | None = None  # the one that runs, or waits for another run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the zygote now instead of at the first run."""
        self._ensure_zygote()

    def close(self) -> None:
        """End the zygote and everything in it."""
        self.end_child()
        zygote, self._zygote, self._busy = self._zygote, None, False
        if zygote is not None:
            zygote.end()

    def session(self) -> SandboxSession:
        """A session for the runs of one submission."""
        return SandboxSession(self)

    def end_child(self) -> None:
        """End the process that is waiting for another run, if there is one."""
        if self._child is None:
            return
        self._child.close_channels()
        self._child = None
        with suppress(_ZygoteGone):  # found out when its status is asked for
            self._command(frames.END_IT)  # whatever it is doing; if it ended by itself, the order is ignored

    @property
    def pid(self) -> int | None:
        """The process that was started for the sandbox, if one is running."""
        return None if self._zygote is None else self._zygote.process.pid

    def run(
        self,
        job: Job,
        draws: Draws | None = None,
        *,
        seconds: float | None = None,
        session: SandboxSession | None = None,
    ) -> Run:
        """Run one submission and observe it, in a new process or in the one that its session reuses.

        Args:
            job: what to run.
            draws: inputs for this run, if not those of the sandbox.
            seconds: for this run, if not those of the limits; no more than theirs.
            session: the session that it belongs to; its next run may reuse the process.

        Raises:
            Fault: the sandbox itself does not work; nothing is known about the submission.
        """
        if sum(len(cell.source) for cell in job.cells) > self.limits.code_bytes:
            detail = f"The code is longer than the {self.limits.code_bytes:,} characters that are run."
            return Run(stopped=Stopped("size", detail))
        seconds = min(seconds or self.limits.seconds, self.limits.seconds)
        asked = {name: list(probes) for name, probes in job.exercises.items()}
        request = RunRequest(pack_job(job, draws), asked, seconds, job.holds_reference)
        reused = self._child
        if (
            reused is None
            or session is None
            or reused.session is not session
            or (draws is None and reused.saw_reference)
        ):
            return self._run_in_new(request, session)
        return self._run_in_reused(request, reused) or self._run_in_new(request, session)

    def _run_in_reused(self, request: RunRequest, reused: Child) -> Run | None:
        """Run in the reused process. None if what an earlier run left there may have spoiled this one."""
        try:
            run = self._run_in(reused, request)
        except _ZygoteGone:
            self.close()
            return None
        late = run.stopped is not None and run.stopped.reason == "time"
        return run if late or run.went_well(request.asked) else None

    def _run_in_new(self, request: RunRequest, session: SandboxSession | None) -> Run:
        """Run in a new process. A sandbox that dies need not be this submission's doing, so it gets a second one."""
        for _ in range(2):
            try:
                self._child = self._new_child(session)
                return self._run_in(self._child, request)
            except _ZygoteGone:
                self.close()
        return Run(stopped=Stopped("sandbox", "The sandbox itself was ended while this code ran, twice."))

    def _ensure_zygote(self) -> None:
        """Make sure that there is a live zygote without a child."""
        self.end_child()
        if self._zygote is not None and self._busy:
            try:
                self._status()
            except _ZygoteGone:
                self.close()
        if self._zygote is not None and self._zygote.gone():
            self.close()
        if self._zygote is None:
            self._zygote = launch(self._config, self._payload)

    def _new_child(self, session: SandboxSession | None) -> Child:
        """A new process, which makes itself ready and waits for a job."""
        self._ensure_zygote()
        pairs = [socket.socketpair() for _ in range(frames.TIMES)]
        child = Child([ours for ours, _ in pairs], session)
        try:
            self._command(frames.RUN, [theirs.fileno() for _, theirs in pairs])
        except _ZygoteGone:
            child.close_channels()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        self._busy = True
        return child

    def _command(self, command: bytes, descriptors: Sequence[int] = ()) -> None:
        """Command the zygote to start a child with these descriptors, or to end the current one."""
        assert self._zygote is not None
        try:
            if descriptors:
                socket.send_fds(self._zygote.control, [command], descriptors)
            else:
                self._zygote.control.send(command)
        except OSError:
            raise _ZygoteGone from None

    def _run_in(self, child: Child, request: RunRequest) -> Run:
        """Run in this process, then end it unless it can be reused."""
        with child.channels.pop(0) as channel:
            run = self._exchange(channel, request, await_ready=not child.ready)
        child.ready, child.saw_reference = True, child.saw_reference or request.holds_reference
        child.seconds += run.seconds
        quick = child.seconds < REUSE_SHARE * self.limits.seconds
        reused = child.session is not None and child.channels and quick and "kept" in self._config.warm
        if run.stopped is not None or not reused:
            self.end_child()
        return run

    def _exchange(self, channel: socket.socket, request: RunRequest, await_ready: bool) -> Run:
        """Send the job, and read frames until the run ends, however it ends."""
        assert self._zygote is not None
        seconds = request.seconds
        self._used = 0.0
        run = Run()
        reader = Reader(channel, time.monotonic() + WAITS * seconds, self.limits)
        try:
            reader.send(frames.frame(frames.JOB, request.job))
            if await_ready:
                self._await_ready(reader)
            self._read(reader, request, run)
        except Late:
            run.stopped = self._late(seconds, reader.running)
        except TooLarge as error:
            run.stopped = Stopped("result", f"The code sent back too much: {error}.", *reader.running)
        except Garbage as error:
            detail = f"What came back was not an answer of the test harness ({error})."
            run.stopped = Stopped("garbage", detail, *reader.running)
        except Ended:
            if self._zygote.has_spoken(GRACE):
                run.stopped = self._stop_from_status(self._status(), seconds, reader.running)
            else:
                detail = "The code cut its connection to the test harness and went on running."
                run.stopped = Stopped("garbage", detail, *reader.running)
        if run.stopped is not None:
            run.seconds = seconds if run.stopped.reason == "time" else min(self._used, seconds)
        return run

    def _await_ready(self, reader: Reader) -> None:
        """Read the first frame of a process. No student code runs yet, so it can be trusted."""
        kind, payload = next(reader.frames())
        if kind == frames.FAULT:
            raise Fault(f"a run could not be confined: {payload.decode('utf-8', 'replace')[:500]}")
        if kind != frames.READY:
            raise Garbage("no greeting")

    def _read(self, reader: Reader, request: RunRequest, run: Run) -> None:
        """Take frames until the last."""
        for kind, payload in reader.frames():
            if kind == frames.DEFINED:
                store_definitions(frames.from_json(payload), request.asked, run)
            elif kind == frames.BEGIN:
                reader.running = parse_begin(payload, request.asked)
            elif kind == frames.OBSERVED:
                store_observation(payload, reader.running, run)
                reader.running = ("", "")
            elif kind == frames.OUTPUT:
                printed = frames.from_json(payload)
                run.output = clean(printed.get("text"), self.limits.kept_output)
                run.seconds = clamped(printed.get("seconds"), self.limits.seconds)
            elif kind == frames.STOP:
                run.stopped = self._stop_from_report(frames.from_json(payload), reader.running)
                return
            elif kind == frames.END:
                return
            else:
                raise Garbage("unknown kind of frame")

    def _stop_from_report(self, report: Mapping[str, Any], running: tuple[str, str]) -> Stopped:
        if report.get("reason") == "output":
            return Stopped("output", f"The code printed more than {self.limits.output_bytes:,} characters.", *running)
        detail = clean(report.get("detail", ""), 500)
        return Stopped("crash", f"The code broke the test harness that ran it ({detail}).", *running)

    def _late(self, seconds: float, running: tuple[str, str]) -> Stopped:
        """Out of time. One sentence for both clocks: which of them ends a loop depends on how busy the machine is."""
        allowed = f"{seconds:g} s of processor time, or {WAITS * seconds:g} s by the clock"
        return Stopped("time", f"The code did not end in the time that it is given: {allowed}.", *running)

    def _stop_from_status(self, ending: tuple[int, int, float], seconds: float, running: tuple[str, str]) -> Stopped:
        """The reason why a child without an END frame ended."""
        status, peak_kb, used = ending
        if os.WIFEXITED(status):
            detail = (
                f"The code ended its own process (exit status {os.WEXITSTATUS(status)}) before its answer was complete."
            )
            return Stopped("exit", detail, *running)
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU or (number == signal.SIGKILL and used >= self.limits.cpu_seconds):
            return self._late(seconds, running)
        zygote_kb = self._zygote.peak_kb if self._zygote is not None else 0
        if number == signal.SIGKILL or peak_kb - zygote_kb > 0.7 * 1024 * self.limits.memory_mb:
            return Stopped("memory", f"The code needed more than the allowed {self.limits.memory_mb} MB.", *running)
        name = _signal_name(number)
        what = f": {SIGNALS[name]}" if name in SIGNALS else ""
        return Stopped("crash", f"The code crashed its process ({name}{what}).", *running)

    def _status(self) -> tuple[int, int, float]:
        """Exit status, peak memory in KB and processor time of the last child. It was commanded to end, so the wait is
        short."""
        assert self._zygote is not None
        data = self._zygote.receive(frames.STATUS.size, seconds=30)
        if data is None:
            raise _ZygoteGone
        self._busy = False
        status, peak, self._used = frames.STATUS.unpack(data)
        return status, peak, self._used


def clamped(reported: object, most: float) -> float:
    """A time reported by a child, which may be anything, clamped to 0 … `most`."""
    return min(max(float(reported), 0.0), most) if isinstance(reported, int | float) and reported == reported else 0.0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _ZygoteGone(Exception):
    """The zygote died; nothing is known about the run."""
