"""Starting a zygote behind the walls of a tier.

Guarantees: it gets an empty environment, one descriptor, and text over that descriptor; it ends when this process ends
(it follows the thread that started it, so a thread of ours that never ends does the starting).

A zygote is started, then sent its payload. It loads torch in between, and may be started before there is a payload: a
*spare*, which loads torch while this process loads its own. For one submission that is the difference between loading
it once and twice. Nothing here needs torch for that reason.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from proctor.inside import frames, landlock
from proctor.inside.rlimits import Limits
from proctor.sandbox import visible_files
from proctor.sandbox.tiers import bubblewrap

if TYPE_CHECKING:
    from proctor.forbid import Family

HOME = Path(__file__).resolve().parents[1]
INSIDE = ("inside", "forbid")  # packages; the rest of proctor, and all of the course, stays outside
PRELOAD = (
    "numpy.random", "torch.nn.functional", "torch.func", "torch.fft", "torch.linalg", "torch.distributions",
    "torch.optim", "torch.utils._device",  # which torch loads when it is asked for its default device
    "dataclasses", "decimal", "fractions", "heapq", "statistics", "string", "unittest.mock",
)  # fmt: skip
ENVIRONMENT = {
    "HOME": "/",
    "LANG": "C.UTF-8",
    "PATH": "",
    "PYTHONHASHSEED": "0",  # the same submission takes the same way every time
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": "/",
    "CUDA_VISIBLE_DEVICES": "",
}


class Fault(RuntimeError):
    """The sandbox itself failed: a fault of ours, never of a submission."""


@dataclass(frozen=True)
class Payload:
    """The data a zygote receives before the first submission; see `Sandbox` for the fields."""

    probes: bytes  # cloudpickle of {exercise: {probe: function}}
    draws: bytes  # inputs, encoded by `protocol`
    public_modules: Mapping[str, str] = field(default_factory=dict)
    forbid: Mapping[str, Sequence[Family]] = field(default_factory=dict)  # exercise -> forbidden families
    rehearsal: str = ""

    def json_part(self) -> dict[str, Any]:
        """The JSON part of the payload."""
        forbid = {name: [family.to_json() for family in families] for name, families in self.forbid.items()}
        return {"public_modules": dict(self.public_modules), "forbid": forbid, "rehearsal": self.rehearsal}


class Zygote:
    """A running zygote and the socket that commands it. A process that is forked from this one can use it as well."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, log: IO[bytes]) -> None:
        self.process, self.control, self.log = process, control, log
        self.owner = os.getpid()
        try:
            self.handle = os.pidfd_open(process.pid)  # names it for good, also where it is not our child
        except (AttributeError, OSError):
            self.handle = -1
        self.peak_kb = 0  # its own memory, which a child's starts from

    def gone(self) -> bool:
        """Has the process that was started ended, or the stream? It never speaks unasked.

        Both are asked: a process that was ended while its walls were built may leave one behind that holds the stream.
        """
        return (self.handle >= 0 and _readable(self.handle, 0)) or self.has_spoken(0)

    def has_spoken(self, seconds: float) -> bool:
        """Is there data to receive from it, or has it died, within that time?"""
        return _readable(self.control.fileno(), seconds)

    def receive(self, count: int, seconds: float) -> bytes | None:
        """Exactly `count` bytes, or None if it died or did not answer in time."""
        deadline = time.monotonic() + seconds
        data = b""
        while len(data) < count:
            ready = self.has_spoken(deadline - time.monotonic())
            try:
                part = self.control.recv(count - len(data)) if ready else b""
            except OSError:
                part = b""
            if not part:
                return None
            data += part
        return data

    def kill(self) -> None:
        """End it now, with everything inside: all of it follows this one process."""
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
        elif self.handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            select.select([self.handle], [], [], 30)

    def end(self) -> None:
        """End it, and let go of all that belongs to it."""
        self.kill()
        self.let_go()

    def let_go(self) -> None:
        """Leave it to the process that inherited it."""
        self.control.close()
        self.log.close()
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def said(self) -> str:
        """The last of what it wrote to its standard error."""
        try:
            self.log.seek(0)
            return self.log.read()[-2000:].decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return ""


def _readable(descriptor: int, seconds: float) -> bool:
    """Is there data to read, or end of file, within that time?"""
    waiting = select.poll()  # select() knows only the first thousand descriptors
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(max(seconds, 0) * 1000))


class _Launcher:
    """A thread that never ends, and starts processes for others."""

    def __init__(self) -> None:
        self.orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def __call__(self, start: Callable[[], Any]) -> Any:
        with self.lock:
            if self.thread is None or not self.thread.is_alive():  # not alive: this process was itself forked
                self.orders = queue.SimpleQueue()
                self.thread = threading.Thread(target=self._work, name="sandbox launcher", daemon=True)
                self.thread.start()
        future: Future[Any] = Future()
        self.orders.put((start, future))
        return future.result()

    def _work(self) -> None:
        while True:
            start, future = self.orders.get()
            try:
                future.set_result(start())
            except BaseException as error:
                future.set_exception(error)


_launcher = _Launcher()


def sources() -> dict[str, str]:
    """The text of everything of ours that exists inside: full module name -> text."""
    files = [file for package in INSIDE for file in sorted((HOME / package).rglob("*.py"))]
    return {module_name(file): file.read_text("utf-8") for file in files}


def module_name(file: Path) -> str:
    parts = file.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class SandboxConfig:
    """The configuration of a zygote.

    Args:
        tier: the tier's name.
        seen: files that can be read inside.
        limits: of each run.
        warm: optimisations that are on (`proctor.inside.warmup`).
    """

    tier: str
    seen: visible_files.VisibleFiles
    limits: Limits
    warm: frozenset[str] = frozenset()


def launch(config: SandboxConfig, payload: Payload) -> Zygote:
    """A zygote that is ready for its first run: the spare one if it has the same configuration, or a new one.

    Raises:
        Fault: it did not start, with what it said.
    """
    zygote = _take_spare(config) or begin(config)
    try:
        _send_payload(
            zygote, [frames.to_json(payload.json_part()), payload.probes, payload.draws], config.limits.boot_seconds
        )
    except BaseException:
        zygote.end()
        raise
    return zygote


def begin(config: SandboxConfig) -> Zygote:
    """Start a zygote that confines itself, loads torch, and waits for its payload."""
    seen = config.seen
    python = [
        seen.executable,
        "-P",
        "-s",
        "-S",
        "-B",
        "-c",
        (HOME / "inside" / "bootstrap.py").read_text("utf-8"),
    ]
    words = bubblewrap.command(seen, ENVIRONMENT) if config.tier == "bubblewrap" else []
    boot = {
        "tier": config.tier,
        "path": seen.path,
        "roots": seen.shown,
        "rules": _rules(seen) if config.tier == "landlock" else [],
        "limits": {**asdict(config.limits), "cpu_seconds": config.limits.cpu_seconds},
        "preload": PRELOAD,
        "warm": sorted(config.warm),
        "sources": sources(),
    }
    ours, theirs = socket.socketpair()
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the zygote

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*words, *python, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=[theirs.fileno()],
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader, which then ends the sandbox
        )

    with theirs:
        zygote = Zygote(_launcher(start), ours, log)
    try:
        _send(zygote, [frames.to_json(boot)], config.limits.boot_seconds)
    except BaseException:
        zygote.end()
        raise
    return zygote


# ---- one that was begun before

_spare: list[tuple[SandboxConfig, Zygote]] = []  # one at most


def begin_spare(config: SandboxConfig) -> None:
    """Start a zygote now that `launch` uses later, in this process or in one forked from it; no harm if none does."""
    drop_spare()
    zygote = begin(config)
    _spare.append((config, zygote))


def drop_spare() -> None:
    """End the spare one, if there is one."""
    while _spare:
        _spare.pop()[1].end()


def leave_spare() -> None:
    """The spare one, if there is one, is another process's."""
    while _spare:
        _spare.pop()[1].let_go()


def _take_spare(config: SandboxConfig) -> Zygote | None:
    if _spare and _spare[0][0] == config and not _spare[0][1].gone():
        zygote = _spare.pop()[1]
        return zygote
    drop_spare()
    return None


def _rules(seen: visible_files.VisibleFiles) -> list[tuple[str, int]]:
    devices = [(device, landlock.READ_FILE | landlock.WRITE_FILE) for device in visible_files.DEVICES]
    return [*landlock.grants(seen.shown, seen.hidden), *devices]


def _send(zygote: Zygote, parts: Sequence[bytes], seconds: float) -> None:
    zygote.control.settimeout(seconds)
    try:
        for part in parts:
            zygote.control.sendall(len(part).to_bytes(8, "big") + part)
    except OSError:
        pass  # it died; what it said is asked for later
    finally:
        zygote.control.settimeout(None)


def _send_payload(zygote: Zygote, parts: Sequence[bytes], seconds: float) -> None:
    """Send the payload and wait until the zygote is ready."""
    _send(zygote, parts, seconds)
    answer = zygote.receive(9, seconds)
    if answer is None:
        zygote.kill()
        raise Fault(f"the sandbox did not start: {zygote.said() or 'it gave no reason'}")
    kind, length = answer[:1], int.from_bytes(answer[1:], "big")
    text = (zygote.receive(length, seconds) or b"").decode("utf-8", "replace")
    if kind == frames.FAILED:
        raise Fault(f"the sandbox did not start: {text}")
    if kind != frames.BOOTED:
        raise Fault("the sandbox answered with something else than ready")
    zygote.peak_kb = int(text)
